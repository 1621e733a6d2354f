package httpfarm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/password"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// MinKey is the minimum length of a key in bytes. Keys are compared by a fast hash, so
// they must be too long to guess.
const MinKey = 16

const maxKey = 255

// maxPlain bounds the passwords to hash in one body.
const maxPlain = 32

const keyPrefix = "sha256:"

// authFields define which clients a service admits. Passwords and keys are hashed here and
// never shown.
var authFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "auth_users", Hints: field.Basic(field.AtAccess, "Users"), IfUnset: field.Omit, Kind: field.List, Null: true, Max: farm.MaxAuthUsers, MaxLen: format.MaxName + 1 + password.MaxLength, Check: checkUser, Hide: hideUser,
			Format: "name:password", Key: userName, Must: "a user as name:password", MustList: fmt.Sprintf("a list of at most %d users as name:password", farm.MaxAuthUsers),
			About: "Allowed users as name:password or name:hash (bcrypt, htpasswd -B). They are shown as name:***; sending that back keeps the password."},
		Get: func(s *farm.Service) field.Value {
			var list []string
			for _, u := range authOf(s).Users {
				list = append(list, u.Name+":"+u.Hash)
			}
			return field.ListValue(list)
		},
		Set:   setUsers,
		Needs: needsUsers,
	},
	{
		Rule: field.Rule{Name: "auth_header", Hints: field.Basic(field.AtAccess, "Key header"), IfUnset: field.Omit, Kind: field.Text, Blank: true, Format: "name of a header", MaxLen: format.MaxName, Pattern: format.Token, Check: checkAuthHeader,
			Must: "the name of a header", About: "Request header that must contain one of auth_keys; empty disables the check."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(authOf(s).Header) },
		Set: func(s *farm.Service, v field.Value) {
			authFor(s).Header = v.Text()
			tidyAuth(s)
		},
	},
	{
		Rule: field.Rule{Name: "auth_keys", Hints: field.Basic(field.AtAccess, "Keys"), IfUnset: field.Omit, Kind: field.List, Null: true, Max: farm.MaxAuthKeys, MaxLen: maxKey, Check: checkKey, Canon: canonKey, Hide: hideKey, Format: "key",
			Must: "a key of at least 16 characters", MustList: fmt.Sprintf("a list of at most %d keys of at least 16 characters", farm.MaxAuthKeys),
			Only: field.With("auth_header"), About: "Accepted keys of at least 16 characters each. Only the start of each key's SHA-256 is shown; sending that back keeps the key."},
		Get: func(s *farm.Service) field.Value {
			var list []string
			for _, k := range authOf(s).Keys {
				list = append(list, keyPrefix+string(k))
			}
			return field.ListValue(list)
		},
		Set:   setKeys,
		Needs: needsKeys,
	},
	{
		Rule: field.Rule{Name: "auth_realm", Hints: field.Advanced(field.AtAccess, "Realm"), Kind: field.Text, Blank: true, MaxLen: 128, Check: checkRealm, Unset: field.TextValue(farm.DefaultRealm),
			Must: "a text of printable ASCII characters", Only: field.With("auth_users", "auth_header"), About: "Authentication realm shown to clients."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(cmp.Or(authOf(s).Realm, farm.DefaultRealm)) },
		Set: func(s *farm.Service, v field.Value) { s.Auth.Realm = field.OrZero(v.Text(), farm.DefaultRealm) },
	},
	{
		Rule: field.Rule{Name: "auth_strip", Hints: field.Advanced(field.AtAccess, "Remove credentials"), Kind: field.Bool, Unset: field.BoolValue(true), Only: field.With("auth_users", "auth_header").AllowDefault(), About: "Remove credentials from requests before forwarding them to backends."},
		Get:  func(s *farm.Service) field.Value { return field.BoolValue(!authOf(s).Pass) },
		Set:  func(s *farm.Service, v field.Value) { s.Auth.Pass = !v.Bool() },
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
	case name == "" || len(name) > format.MaxName || strings.IndexFunc(name, format.IsControl) >= 0:
		return fmt.Sprintf("the name has 1 to %d bytes without control characters", format.MaxName)
	case secret == "":
		return "the password is blank"
	case strings.IndexFunc(secret, format.IsControl) >= 0:
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
		return format.Unchanged // may be a bare password
	}
	if !exact {
		return name + ":" + format.Unchanged
	}
	sum := sha256.Sum256([]byte(secret))
	return fmt.Sprintf("%s:%s (%x)", name, format.Unchanged, sum[:4])
}

func needsUsers(sent field.Values[farm.Service], s *farm.Service) string {
	plain := 0
	for _, item := range sent.Get("auth_users").List() {
		name, secret, _ := strings.Cut(item, ":")
		if secret == format.Unchanged && hashOf(s, name) == "" {
			return fmt.Sprintf("names user %s with %s, which keeps the password a user has; there is no such user: send the password", field.Show(name), format.Unchanged)
		}
		if is, _ := password.Check(secret); !is && secret != format.Unchanged {
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
func setUsers(s *farm.Service, v field.Value) {
	var users []farm.AuthUser
	for _, item := range v.List() {
		name, secret, _ := strings.Cut(item, ":")
		user := farm.AuthUser{Name: name, Hash: hashOf(s, name)}
		if is, _ := password.Check(secret); is {
			user.Hash = secret
		} else if secret != format.Unchanged && (user.Hash == "" || !password.Matches([]byte(user.Hash), []byte(secret))) {
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

func needsKeys(sent field.Values[farm.Service], s *farm.Service) string {
	for _, item := range sent.Get("auth_keys").List() {
		if part, short := shortSum(strings.TrimPrefix(item, keyPrefix)); short && len(keysLike(s, part)) != 1 {
			return fmt.Sprintf("names the key %s, which keeps a key the service has; there is no such key: send the key", field.Show(item))
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

func setKeys(s *farm.Service, v field.Value) {
	var keys []farm.AuthKey
	for _, item := range v.List() {
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
func checkAuth(path string, s *farm.Service) *field.Error {
	a := s.Auth
	switch {
	case a == nil:
		return nil
	case s.Redirect != "":
		return &field.Error{Path: path, Field: "auth_users", Message: "auth_users and auth_header are not possible with redirect: the address would be all there is to protect; unset redirect or them"}
	case a.Header != "" && len(a.Keys) == 0:
		return &field.Error{Path: path, Field: "auth_keys", Message: "auth_keys is required with auth_header: without keys nobody would be let in"}
	case len(a.Users) == 0 && len(a.Keys) == 0:
		return &field.Error{Path: path, Field: "auth_users", Message: "auth_users is required while its other fields are set, or auth_header with auth_keys"}
	case len(a.Users) > 0 && strings.EqualFold(a.Header, "Authorization"):
		return &field.Error{Path: path, Field: "auth_header", Message: "auth_header must not be Authorization together with auth_users: that header carries the password"}
	}
	for _, u := range a.Users {
		if is, problem := password.Check(u.Hash); !is || problem != "" {
			return &field.Error{Path: path, Field: "auth_users", Message: fmt.Sprintf("auth_users: user %s has no usable hash", field.Show(u.Name))}
		}
	}
	return nil
}
