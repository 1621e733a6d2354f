// Package password hashes passwords with bcrypt (golang.org/x/crypto/bcrypt), which
// takes a tenth of a second by design to slow down guessing. Hash and Matches must not
// be called on a loop.
package password

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

const (
	// Cost is the bcrypt cost of new hashes; each increment doubles the work.
	Cost = bcrypt.DefaultCost
	// minCost and maxCost limit the cost of hashes made elsewhere. htpasswd -B uses 5.
	// Above 14, a check takes more than a second.
	minCost, maxCost = 5, 14
	// MaxLength is the maximum length of a password in bytes; bcrypt ignores the rest.
	MaxLength = 72
	// HashLength is the length of every hash.
	HashLength = 60
)

// Hash returns a new salted hash of a password of 1 to MaxLength bytes.
func Hash(password string) (string, error) {
	if password == "" {
		return "", errors.New("the password is blank")
	}
	b, err := bcrypt.GenerateFromPassword([]byte(password), Cost)
	if err != nil {
		return "", fmt.Errorf("password of %d bytes: %w", len(password), err)
	}
	return string(b), nil
}

// Matches reports whether hash belongs to password. Its duration depends only on the
// cost of the hash.
func Matches(hash, password []byte) bool {
	return bcrypt.CompareHashAndPassword(hash, password) == nil
}

// weak lists the prefixes of hashes that other programs make.
var weak = []struct{ prefix, name string }{
	{"{SHA}", "unsalted SHA-1"},
	{"{SSHA}", "SHA-1"},
	{"{MD5}", "unsalted MD5"},
	{"{SMD5}", "MD5"},
	{"{CRYPT}", "crypt"},
	{"{PLAIN}", "not hashed"},
	{"$apr1$", "Apache's MD5"},
	{"$1$", "MD5"},
	{"$2$", "the first bcrypt, which was broken"},
	{"$2x$", "a broken bcrypt"},
	{"$5$", "SHA-256 crypt"},
	{"$6$", "SHA-512 crypt"},
	{"$7$", "scrypt"},
	{"$y$", "yescrypt"},
	{"$argon2", "Argon2"},
}

// Check validates a text that may be a hash. The result is reports whether the text is a
// hash; otherwise it is a password. The result problem describes the error and names
// the algorithm of hashes other than bcrypt.
func Check(text string) (is bool, problem string) {
	for _, w := range weak {
		if strings.HasPrefix(text, w.prefix) {
			return true, fmt.Sprintf("the hash is %s, only bcrypt is possible: make it with htpasswd -B, or send the password", w.name)
		}
	}
	if !strings.HasPrefix(text, "$2a$") && !strings.HasPrefix(text, "$2b$") && !strings.HasPrefix(text, "$2y$") {
		return false, ""
	}
	cost, err := bcrypt.Cost([]byte(text))
	switch {
	case err != nil || len(text) != HashLength || strings.Trim(text[7:], alphabet) != "":
		return true, "the hash begins like bcrypt but is none"
	case cost < minCost || cost > maxCost:
		return true, fmt.Sprintf("the hash has cost %d, from %d to %d are possible", cost, minCost, maxCost)
	}
	return true, ""
}

// alphabet is the base64 alphabet of bcrypt.
const alphabet = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Decoy returns a hash without a known password and with the cost of hash. Comparing
// with it hides that a user does not exist.
func Decoy(hash string) string {
	return hash[:7] + strings.Repeat("sluice.decoy", 5)[:HashLength-7]
}
