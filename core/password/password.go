// Package password keeps passwords so that who reads them there has to guess:
// as bcrypt, which takes a tenth of a second by intent. It is the door to
// golang.org/x/crypto/bcrypt. Never call Hash or Matches on a loop.
package password

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

const (
	// Cost is that of hashes made here; each one more doubles the work.
	Cost = bcrypt.DefaultCost
	// minCost and maxCost bound those of hashes made elsewhere: htpasswd -B
	// makes them with 5, and beyond 14 a second is not enough to check one.
	minCost, maxCost = 5, 14
	// MaxLength is the longest password in bytes: bcrypt looks at no more.
	MaxLength = 72
	// HashLength is that of every hash.
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

// Matches reports whether hash is of that password. It takes as long as the
// cost of the hash says, whether or not it does.
func Matches(hash, password []byte) bool {
	return bcrypt.CompareHashAndPassword(hash, password) == nil
}

// weak are hashes other programs make, by what they begin with.
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

// Check says what is wrong with a text that may be a hash: is tells whether it
// looks like one at all (if not it is a password). Hashes that are not bcrypt
// are named.
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

// alphabet is that of bcrypt's own base64.
const alphabet = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Decoy is a hash no password is known for that takes as long as hash to
// compare with: for users that do not exist.
func Decoy(hash string) string {
	return hash[:7] + strings.Repeat("sluice.decoy", 5)[:HashLength-7]
}
