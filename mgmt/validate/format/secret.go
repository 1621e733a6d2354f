package format

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// Unchanged masks a password in responses. In a request it stands for the user's
// current password.
const Unchanged = "***"

// HideSecret masks a secret completely.
func HideSecret(string, bool) string { return "***" }

// Sealed checks the form of a sealed secret.
func Sealed(s string) string {
	if _, err := base64.RawURLEncoding.DecodeString(s); err != nil || s == "" {
		return "what begins like a sealed secret is none"
	}
	return ""
}

// HideSealed masks a secret. With exact, different sealed secrets look different. An
// unsealed one gets no digest, which could reveal a short text.
func HideSealed(s string, exact bool) string {
	sealed, is := farm.Secret(s).Sealed()
	if !exact || !is {
		return Unchanged
	}
	sum := sha256.Sum256([]byte(sealed))
	return fmt.Sprintf("%s (%x)", Unchanged, sum[:4])
}
