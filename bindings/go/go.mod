module github.com/palladion/palladion/bindings/go

go 1.25
