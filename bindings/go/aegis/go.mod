module github.com/palladion/palladion/bindings/go/aegis

go 1.25
