package apply

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Secrets seals what the settings of the machine need to have again as it was;
// *certs.Book is one.
type Secrets interface {
	SealSecret(purpose string, plain []byte) ([]byte, error)
	OpenSecret(purpose string, sealed []byte) ([]byte, error)
}

// WithSecrets sets what seals secrets; without it they are refused.
func WithSecrets(s Secrets) Option { return func(a *Applier) { a.secrets = s } }

// sealSecrets leaves nothing in cfg that others could read. One that is the same as
// before stays as it is, so that the document does, too.
func (a *Applier) sealSecrets(old, cfg *farm.System) error {
	before := old.Secrets()
	for i, secret := range cfg.Secrets() {
		if *secret.At == "" || *secret.At == *before[i].At {
			continue
		}
		sealed, err := a.sealed(secret.Purpose, []farm.Secret{*before[i].At}, *secret.At)
		if err != nil {
			section, field, _ := strings.Cut(strings.TrimPrefix(secret.Purpose, "system "), " ")
			return &validate.Error{Path: validate.SectionPath(section), Field: field, Message: field + " " + err.Error()}
		}
		*secret.At = sealed
	}
	return nil
}

var errForeignSecret = errors.New("was sealed by another appliance, or for something else, and cannot be read here: send the secret itself")

// sealed is a secret sealed: one of those before, if it is the same.
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
		return secret, nil // sealed here, earlier
	}
	b, err := a.secrets.SealSecret(purpose, []byte(plain))
	if err != nil {
		return "", errors.New("cannot be sealed: " + err.Error())
	}
	return farm.NewSealedSecret(base64.RawURLEncoding.EncodeToString(b)), nil
}

// Reveal opens a secret of the settings of the machine. One that is not sealed is
// the default of its field, which everybody knows.
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
