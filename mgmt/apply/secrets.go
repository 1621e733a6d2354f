package apply

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Secrets seals secrets in the settings of the machine, which must be readable again;
// *certs.Book implements it.
type Secrets interface {
	SealSecret(purpose string, plain []byte) ([]byte, error)
	OpenSecret(purpose string, sealed []byte) ([]byte, error)
}

// WithSecrets sets the Secrets; without them, secrets are refused.
func WithSecrets(s Secrets) Option { return func(a *Applier) { a.secrets = s } }

// sealSecrets seals all plain secrets in cfg. An unchanged secret keeps its seal, so that the
// document does not change.
func (a *Applier) sealSecrets(old, cfg *farm.System) error {
	before := old.Secrets()
	for i, secret := range cfg.Secrets() {
		if *secret.At == "" || *secret.At == *before[i].At {
			continue
		}
		sealed, err := a.sealed(secret.Purpose, []farm.Secret{*before[i].At}, *secret.At)
		if err != nil {
			section, name, _ := strings.Cut(strings.TrimPrefix(secret.Purpose, "system "), " ")
			return &field.Error{Path: system.Path(section), Field: name, Message: name + " " + err.Error()}
		}
		*secret.At = sealed
	}
	return nil
}

var errForeignSecret = errors.New("was sealed by another appliance, or for something else, and cannot be read here: send the secret itself")

// sealed returns the sealed form of secret: one of before if the content is equal, else a new
// one.
func (a *Applier) sealed(purpose string, before []farm.Secret, secret farm.Secret) (farm.Secret, error) {
	if a.secrets == nil {
		return "", errors.New("cannot be kept: there is nothing to seal it with")
	}
	plain := string(secret)
	if _, is := secret.Sealed(); is {
		var err error
		if plain, err = Reveal(a.secrets, purpose, secret); err != nil {
			return "", errForeignSecret
		}
	}
	for _, known := range before {
		if was, err := Reveal(a.secrets, purpose, known); err == nil && was == plain {
			return known, nil
		}
	}
	if plain != string(secret) {
		return secret, nil // sealed here earlier
	}
	b, err := a.secrets.SealSecret(purpose, []byte(plain))
	if err != nil {
		return "", errors.New("cannot be sealed: " + err.Error())
	}
	return farm.NewSealedSecret(base64.RawURLEncoding.EncodeToString(b)), nil
}

// Reveal opens a secret of the settings of the machine. An unsealed one is the public default
// of its field.
func Reveal(s Secrets, purpose string, secret farm.Secret) (string, error) {
	text, is := secret.Sealed()
	if !is {
		return string(secret), nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", errForeignSecret
	}
	plain, err := s.OpenSecret(purpose, sealed)
	return string(plain), err
}
