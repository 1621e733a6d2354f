package validate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/password"
)

const (
	// MinKey is the minimum length of a key in bytes. Keys are compared by a fast hash, so
	// they must be too long to guess.
	MinKey = 16
	maxKey = 255
	// maxPlain bounds the passwords to hash in one body.
	maxPlain = 32
	// unchanged masks a password in responses. In a request it stands for the user's
	// current password.
	unchanged = "***"
	keyPrefix = "sha256:"
)

// authFields define which clients a service admits. Passwords and keys are hashed here and
// never shown.
var authFields = []field[farm.Service]{
	{
		rule: rule{name: "auth_users", hints: basic(atAccess, "Users"), bare: leftOut, kind: kindList, null: true, max: farm.MaxAuthUsers, maxLen: MaxName + 1 + password.MaxLength, check: checkUser, hide: hideUser,
			format: "name:password", same: userName, must: "a user as name:password", musts: fmt.Sprintf("a list of at most %d users as name:password", farm.MaxAuthUsers),
			about: "Allowed users as name:password or name:hash (bcrypt, htpasswd -B). They are shown as name:***; sending that back keeps the password."},
		get: func(s *farm.Service) Value {
			var list []string
			for _, u := range authOf(s).Users {
				list = append(list, u.Name+":"+u.Hash)
			}
			return listValue(list)
		},
		set:   setUsers,
		needs: needsUsers,
	},
	{
		rule: rule{name: "auth_header", hints: basic(atAccess, "Key header"), bare: leftOut, kind: kindText, blank: true, format: "name of a header", maxLen: MaxName, pattern: tokenPattern, check: checkAuthHeader,
			must: "the name of a header", about: "Request header that must contain one of auth_keys; empty disables the check."},
		get: func(s *farm.Service) Value { return textValue(authOf(s).Header) },
		set: func(s *farm.Service, v Value) {
			authFor(s).Header = v.text
			tidyAuth(s)
		},
	},
	{
		rule: rule{name: "auth_keys", hints: basic(atAccess, "Keys"), bare: leftOut, kind: kindList, null: true, max: farm.MaxAuthKeys, maxLen: maxKey, check: checkKey, canon: canonKey, hide: hideKey, format: "key",
			must: "a key of at least 16 characters", musts: fmt.Sprintf("a list of at most %d keys of at least 16 characters", farm.MaxAuthKeys),
			only: with("auth_header"), about: "Accepted keys of at least 16 characters each. Only the start of each key's SHA-256 is shown; sending that back keeps the key."},
		get: func(s *farm.Service) Value {
			var list []string
			for _, k := range authOf(s).Keys {
				list = append(list, keyPrefix+string(k))
			}
			return listValue(list)
		},
		set:   setKeys,
		needs: needsKeys,
	},
	{
		rule: rule{name: "auth_realm", hints: advanced(atAccess, "Realm"), kind: kindText, blank: true, maxLen: 128, check: checkRealm, unset: textValue(farm.DefaultRealm),
			must: "a text of printable ASCII characters", only: with("auth_users", "auth_header"), about: "Authentication realm shown to clients."},
		get: func(s *farm.Service) Value { return textValue(cmp.Or(authOf(s).Realm, farm.DefaultRealm)) },
		set: func(s *farm.Service, v Value) { s.Auth.Realm = orZero(v.text, farm.DefaultRealm) },
	},
	{
		rule: rule{name: "auth_strip", hints: advanced(atAccess, "Remove credentials"), kind: kindBool, unset: boolValue(true), only: with("auth_users", "auth_header").resting(), about: "Remove credentials from requests before forwarding them to backends."},
		get:  func(s *farm.Service) Value { return boolValue(!authOf(s).Pass) },
		set:  func(s *farm.Service, v Value) { s.Auth.Pass = !v.truth },
	},
}

func checkAuthHeader(s string) string {
	if fixedReason(s) != "" {
		return "it is part of the protocol"
	}
	return ""
}

// authOf returns the settings to read; without authentication, the defaults. authFor
// returns the settings to change.
func authOf(s *farm.Service) *farm.Auth { return cmp.Or(s.Auth, &farm.Auth{}) }

func authFor(s *farm.Service) *farm.Auth {
	if s.Auth == nil {
		s.Auth = &farm.Auth{}
	}
	return s.Auth
}

// tidyAuth removes authentication settings that require nothing.
func tidyAuth(s *farm.Service) {
	if a := s.Auth; a != nil && len(a.Users) == 0 && a.Header == "" && len(a.Keys) == 0 {
		s.Auth = nil
	}
}

// checkUser checks name:password or name:hash.
func checkUser(s string) string {
	name, secret, found := strings.Cut(s, ":")
	switch {
	case !found:
		return "it has no colon"
	case name == "" || len(name) > MaxName || strings.IndexFunc(name, isControl) >= 0:
		return fmt.Sprintf("the name has 1 to %d bytes without control characters", MaxName)
	case secret == "":
		return "the password is blank"
	case strings.IndexFunc(secret, isControl) >= 0:
		return "the password holds a control character"
	}
	is, problem := password.Check(secret)
	if !is && len(secret) > password.MaxLength {
		return fmt.Sprintf("the password has %d bytes, at most %d are possible", len(secret), password.MaxLength)
	}
	return problem
}

func userName(s string) string {
	name, _, _ := strings.Cut(s, ":")
	return name
}

// hideUser masks the password of a user. With exact, different hashes look different.
func hideUser(s string, exact bool) string {
	name, secret, found := strings.Cut(s, ":")
	if !found {
		return unchanged // may be a bare password
	}
	if !exact {
		return name + ":" + unchanged
	}
	sum := sha256.Sum256([]byte(secret))
	return fmt.Sprintf("%s:%s (%x)", name, unchanged, sum[:4])
}

func needsUsers(sent Values[farm.Service], s *farm.Service) string {
	plain := 0
	for _, item := range sent.Get("auth_users").List() {
		name, secret, _ := strings.Cut(item, ":")
		if secret == unchanged && hashOf(s, name) == "" {
			return fmt.Sprintf("names user %s with %s, which keeps the password a user has; there is no such user: send the password", show(name), unchanged)
		}
		if is, _ := password.Check(secret); !is && secret != unchanged {
			plain++
		}
	}
	if plain > maxPlain {
		return fmt.Sprintf("may hold at most %d passwords at once, got %d: hashing them takes a tenth of a second each; send fewer, or hashes", maxPlain, plain)
	}
	return ""
}

func hashOf(s *farm.Service, name string) string {
	for _, u := range authOf(s).Users {
		if u.Name == name {
			return u.Hash
		}
	}
	return ""
}

// setUsers hashes the passwords. Sending a user's current password changes nothing.
func setUsers(s *farm.Service, v Value) {
	var users []farm.AuthUser
	for _, item := range v.list {
		name, secret, _ := strings.Cut(item, ":")
		user := farm.AuthUser{Name: name, Hash: hashOf(s, name)}
		if is, _ := password.Check(secret); is {
			user.Hash = secret
		} else if secret != unchanged && (user.Hash == "" || !password.Matches([]byte(user.Hash), []byte(secret))) {
			hash, _ := password.Hash(secret) // already checked by checkUser
			user = farm.NewAuthUser(name, hash, secret)
		}
		users = append(users, user)
	}
	authFor(s).Users = users
	tidyAuth(s)
}

// checkKey checks a key, its full hash, or the displayed part of the hash.
func checkKey(s string) string {
	if sum, found := strings.CutPrefix(s, keyPrefix); found {
		if part, short := shortSum(sum); short && isHex(part) || len(sum) == 2*sha256.Size && isHex(sum) {
			return ""
		}
		return "what follows sha256: is no SHA-256"
	}
	if len(s) < MinKey {
		return fmt.Sprintf("it has %d, which is too few to be beyond guessing", len(s))
	}
	if s != strings.TrimSpace(s) || strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return "it begins or ends with a blank, or holds a character that is not printable ASCII"
	}
	return ""
}

// shortSum returns the displayed part of a hash.
func shortSum(sum string) (part string, short bool) {
	for _, dots := range []string{"…", "..."} {
		if part, short = strings.CutSuffix(sum, dots); short {
			return part, len(part) == 8
		}
	}
	return "", false
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func canonKey(s string) string {
	if strings.HasPrefix(s, keyPrefix) {
		return strings.Replace(s, "...", "…", 1)
	}
	sum := sha256.Sum256([]byte(s))
	return keyPrefix + hex.EncodeToString(sum[:])
}

func hideKey(s string, _ bool) string {
	if s = canonKey(s); len(s) > len(keyPrefix)+8 {
		s = s[:len(keyPrefix)+8] + "…"
	}
	return s
}

func needsKeys(sent Values[farm.Service], s *farm.Service) string {
	for _, item := range sent.Get("auth_keys").List() {
		if part, short := shortSum(strings.TrimPrefix(item, keyPrefix)); short && len(keysLike(s, part)) != 1 {
			return fmt.Sprintf("names the key %s, which keeps a key the service has; there is no such key: send the key", show(item))
		}
	}
	return ""
}

func keysLike(s *farm.Service, part string) (found []farm.AuthKey) {
	for _, k := range authOf(s).Keys {
		if strings.HasPrefix(string(k), part) {
			found = append(found, k)
		}
	}
	return found
}

func setKeys(s *farm.Service, v Value) {
	var keys []farm.AuthKey
	for _, item := range v.list {
		sum := strings.TrimPrefix(item, keyPrefix)
		if part, short := shortSum(sum); short {
			keys = append(keys, keysLike(s, part)...)
			continue
		}
		keys = append(keys, farm.AuthKey(sum))
	}
	if s.Auth != nil || keys != nil {
		authFor(s).Keys = keys
	}
	tidyAuth(s)
}

func checkRealm(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return "it holds another character"
	}
	return ""
}

// checkAuth checks the rules between authentication settings.
func checkAuth(path string, s *farm.Service) *Error {
	a := s.Auth
	switch {
	case a == nil:
		return nil
	case s.Redirect != "":
		return &Error{path, "auth_users", "auth_users and auth_header are not possible with redirect: the address would be all there is to protect; unset redirect or them"}
	case a.Header != "" && len(a.Keys) == 0:
		return &Error{path, "auth_keys", "auth_keys is required with auth_header: without keys nobody would be let in"}
	case len(a.Users) == 0 && len(a.Keys) == 0:
		return &Error{path, "auth_users", "auth_users is required while its other fields are set, or auth_header with auth_keys"}
	case len(a.Users) > 0 && strings.EqualFold(a.Header, "Authorization"):
		return &Error{path, "auth_header", "auth_header must not be Authorization together with auth_users: that header carries the password"}
	}
	for _, u := range a.Users {
		if is, problem := password.Check(u.Hash); !is || problem != "" {
			return &Error{path, "auth_users", fmt.Sprintf("auth_users: user %s has no usable hash", show(u.Name))}
		}
	}
	return nil
}
