//go:build !unix

package pld

import (
	"io/fs"
	"os"
)

// openToOthers returns nothing: there are no permissions that it knows.
func openToOthers(string, fs.FileInfo) string { return "" }

// keepAccess gives a new file the permissions of the one that it replaces.
func keepAccess(f *os.File, old fs.FileInfo) { f.Chmod(old.Mode()) }
