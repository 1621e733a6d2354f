package oidc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"sync"
	"time"
)

// seal encrypts logins in progress. Its key is generated when the process starts, so a
// restart ends them.
type seal struct{ cipher.AEAD }

// purposeOfSeal is the additional data that authenticates sealed texts.
const purposeOfSeal = "a login with OpenID Connect"

func newSeal() seal {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails, by its documentation
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // a key of 32 bytes is always valid
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return seal{aead}
}

func (s seal) close(f flow) (string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.Seal(nil, nil, text, []byte(purposeOfSeal))), nil
}

// open returns the login that close sealed.
func (s seal) open(text string) (f flow, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return flow{}, false
	}
	plain, err := s.Open(nil, nil, sealed, []byte(purposeOfSeal))
	if err != nil {
		return flow{}, false
	}
	return f, json.Unmarshal(plain, &f) == nil
}

// maxSpent bounds the used states that are remembered. Beyond it the oldest is removed: the
// provider refuses a second use of its code, too.
const maxSpent = 4096

// spent holds the states of completed logins until they expire.
type spent struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

// add reports whether the state is used for the first time, and marks it as used.
func (s *spent) add(state [sha256.Size]byte, now, until time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, was := s.until[state]; was {
		return false
	}
	if s.until == nil {
		s.until = map[[sha256.Size]byte]time.Time{}
	}
	s.makeRoom(now)
	s.until[state] = until
	return true
}

func (s *spent) makeRoom(now time.Time) {
	if len(s.until) < maxSpent {
		return
	}
	var first [sha256.Size]byte
	var earliest time.Time
	for state, until := range s.until {
		if !now.Before(until) {
			delete(s.until, state)
		} else if earliest.IsZero() || until.Before(earliest) {
			first, earliest = state, until
		}
	}
	if len(s.until) >= maxSpent {
		delete(s.until, first)
	}
}
