// Package pldage encrypts files of package pld for the public keys of [age], and opens them with
// age's identities.
//
//	err := pld.WriteFile(name, data, pldage.Recipients(alice, bob), nil)
//	data, err := pld.ReadFile(name, pldage.Identities(mine), nil)
//
// Such a file has a key slot for age's keys, and can have others besides:
//
//	secret := pld.Slots(pldage.Recipients(alice, bob), key, pld.Passphrase(words))
//
// A file does not prove who wrote it: anyone with the public key can write one.
//
// [age]: https://age-encryption.org
package pldage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"
	"github.com/palladion/palladion/bindings/go/pld"
)

// Recipients returns a secret to write files that any of these recipients can open. It does not
// open files.
//
// All recipients share one slot, which has room for 42 hybrid recipients or several hundred others;
// more can be divided among up to eight Recipients in [pld.Slots]. Like age, a file does not mix
// recipients that are safe against quantum computers with others. [age.ScryptRecipient] is refused:
// use [pld.Passphrase].
func Recipients(recipients ...age.Recipient) pld.Secret {
	return pld.AgeSlot(lockFor(slices.Clone(recipients)), nil)
}

// Identities returns a secret that opens files with any of these identities, whatever the program
// that wrote them. A file that is written with it is for the recipients of these identities, which
// must be [age.X25519Identity] or [age.HybridIdentity] for that.
func Identities(identities ...age.Identity) pld.Secret {
	identities = slices.Clone(identities)
	var recipients []age.Recipient
	for _, i := range identities {
		switch i := i.(type) {
		case *age.X25519Identity:
			recipients = append(recipients, i.Recipient())
		case *age.HybridIdentity:
			recipients = append(recipients, i.Recipient())
		}
	}
	var lock func([]byte) ([]byte, error)
	if len(recipients) == len(identities) {
		lock = lockFor(recipients)
	}
	return pld.AgeSlot(lock, func(file []byte) ([]byte, error) {
		r, err := age.Decrypt(bytes.NewReader(file), identities...)
		if noMatch := new(age.NoIdentityMatchError); errors.As(err, &noMatch) {
			return nil, pld.ErrWrongKey
		}
		var fileKey []byte
		if err == nil {
			fileKey, err = io.ReadAll(io.LimitReader(r, 33)) // package pld expects 32
		}
		if err != nil {
			return nil, fmt.Errorf("pldage: %w", err)
		}
		return fileKey, nil
	})
}

func lockFor(recipients []age.Recipient) func([]byte) ([]byte, error) {
	return func(fileKey []byte) ([]byte, error) {
		var file bytes.Buffer
		w, err := age.Encrypt(&file, recipients...)
		if err == nil {
			if _, err = w.Write(fileKey); err == nil {
				err = w.Close()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("pldage: %w", err)
		}
		return file.Bytes(), nil
	}
}
