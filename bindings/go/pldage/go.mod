module github.com/palladion/palladion/bindings/go/pldage

go 1.26.0

require (
	filippo.io/age v1.3.2
	github.com/palladion/palladion/bindings/go/pld v0.1.0
)

require (
	filippo.io/hpke v0.4.0 // indirect
	github.com/palladion/palladion/bindings/go/aegis v0.1.0 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace (
	github.com/palladion/palladion/bindings/go/aegis => ../aegis
	github.com/palladion/palladion/bindings/go/pld => ../pld
)
