module github.com/palladion/palladion/bindings/go/pld

go 1.26.0

require github.com/palladion/palladion/bindings/go/aegis v0.1.0

require (
	golang.org/x/crypto v0.59.0
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/palladion/palladion/bindings/go/aegis => ../aegis
