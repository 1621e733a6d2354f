// Package totp provides the second factor of users. A code is computed from a secret and the
// time (RFC 6238, with the values of all authenticator apps: SHA-1, six digits, 30 s).
// Recovery codes are for users who lost the device.
//
// It stores nothing: mgmt/rbac does, including the step of the last code, so that no code
// is accepted twice.
package totp

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

const (
	step       = 30 * time.Second
	skew       = 1  // steps a clock may be off, each way (RFC 6238 section 5.2)
	secretSize = 20 // bytes, as long as SHA-1 (RFC 4226 section 4)
	// issuer is the name under which apps show the code.
	issuer = "Sluice"
)

// Key is a new secret, as text and as the content of a QR code.
type Key struct {
	Secret string // base32
	URI    string // otpauth://
}

// NewKey makes the secret of a user of this host.
func NewKey(user, host string) (Key, error) {
	k, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: user + "@" + host, SecretSize: secretSize})
	if err != nil {
		return Key{}, err
	}
	return Key{Secret: k.Secret(), URI: k.URL()}, nil
}

// Step reports whether a code of the secret is valid now, and its step. A code of step last
// or an earlier one was used already, and is wrong.
func Step(secret, code string, now time.Time, last int64) (at int64, right bool) {
	current := now.Unix() / int64(step/time.Second)
	for n := current - skew; n <= current+skew; n++ { // always all of them, for constant time
		is, err := hotp.ValidateCustom(code, uint64(n), secret, hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err == nil && is && n > last {
			at, right = n, true
		}
	}
	return at, right
}

// recoveries is how many recovery codes a user gets.
const recoveries = 10

// NewRecovery makes recovery codes of 80 bits each, and their hashes to store.
func NewRecovery() (codes []string, hashes [][]byte) {
	for range recoveries {
		var random [10]byte
		_, _ = rand.Read(random[:]) // never fails, by its documentation
		text := strings.ToLower(base32.StdEncoding.EncodeToString(random[:]))
		code := strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-")
		codes, hashes = append(codes, code), append(hashes, recoveryHash(code))
	}
	return codes, hashes
}

// FindRecovery returns the index of a recovery code in hashes, -1 if it is missing. Case,
// blanks and hyphens do not matter.
func FindRecovery(hashes [][]byte, code string) int {
	given, at := recoveryHash(code), -1
	for i, h := range hashes { // always all of them, for constant time
		if subtle.ConstantTimeCompare(h, given) == 1 {
			at = i
		}
	}
	return at
}

// recoveryHash uses a fast hash without salt, because 80 random bits cannot be guessed.
func recoveryHash(code string) []byte {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(code))))
	return sum[:]
}
