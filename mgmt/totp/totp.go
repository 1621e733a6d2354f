// Package totp is the second factor of users: codes that follow from a secret and the
// time (RFC 6238, as every authenticator app has them: SHA-1, six digits, 30 s), and
// recovery codes for who lost the device.
//
// It keeps nothing: mgmt/rbac does, and remembers the step of the last code, so that
// none is taken twice.
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
	// issuer is what apps show the code under.
	issuer = "Sluice"
)

// Key is a new secret, once as people type it and once as apps scan it.
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

// Step reports whether a code is one of the secret now, and of which step. One of that
// step or an earlier one than last was used already, and is wrong.
func Step(secret, code string, now time.Time, last int64) (at int64, right bool) {
	current := now.Unix() / int64(step/time.Second)
	for n := current - skew; n <= current+skew; n++ { // all of them: how long it takes says nothing
		is, err := hotp.ValidateCustom(code, uint64(n), secret, hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err == nil && is && n > last {
			at, right = n, true
		}
	}
	return at, right
}

// recoveries is how many recovery codes a user gets.
const recoveries = 10

// NewRecovery makes recovery codes, of 80 bits each, and what is kept of them.
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

// FindRecovery is the place of a recovery code among hashes, -1 when it is none. Case,
// blanks and hyphens do not matter.
func FindRecovery(hashes [][]byte, code string) int {
	given, at := recoveryHash(code), -1
	for i, h := range hashes { // all of them, whichever it is
		if subtle.ConstantTimeCompare(h, given) == 1 {
			at = i
		}
	}
	return at
}

// recoveryHash needs no salt and no work: nobody guesses 80 bits.
func recoveryHash(code string) []byte {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(code))))
	return sum[:]
}
