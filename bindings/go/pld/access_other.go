//go:build !unix

package pld

import "io/fs"

// openToOthers returns nothing: there are no permissions that it knows.
func openToOthers(string, fs.FileInfo) string { return "" }
