package tlsconf

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// groups maps the OpenSSL names of key exchange groups, in lower case, to crypto/tls
// IDs.
var groups = map[string]tls.CurveID{
	"x25519mlkem768": tls.X25519MLKEM768, "secp256r1mlkem768": tls.SecP256r1MLKEM768, "secp384r1mlkem1024": tls.SecP384r1MLKEM1024,
	"x25519": tls.X25519,
	"p-256":  tls.CurveP256, "prime256v1": tls.CurveP256, "secp256r1": tls.CurveP256,
	"p-384": tls.CurveP384, "secp384r1": tls.CurveP384,
	"p-521": tls.CurveP521, "secp521r1": tls.CurveP521,
}

// absentGroups lists groups that OpenSSL supports and crypto/tls does not. Binary
// curves and prime curves below 256 bits (sect163k1 to brainpoolP224r1) are recognised
// by prefix.
var absentGroups = strings.Fields(`x448 secp256k1 brainpoolp256r1 brainpoolp384r1 brainpoolp512r1
	brainpoolp256r1tls13 brainpoolp384r1tls13 brainpoolp512r1tls13 ffdhe2048 ffdhe3072 ffdhe4096 ffdhe6144 ffdhe8192
	mlkem512 mlkem768 mlkem1024 x25519kyber768draft00 x25519_kyber768 p256_kyber768 sm2 curvesm2 gc256a gc256b gc256c gc256d gc512a gc512b gc512c
	p-192 p-224 prime192v1 secp192r1 secp224r1 secp160k1 secp160r1 secp160r2 secp192k1 secp224k1`)

// MaxCurves is the maximum length of a list of groups in bytes.
const MaxCurves = 1024

// CheckCurves parses a list of key exchange groups in OpenSSL syntax, e.g.
// "X25519MLKEM768:X25519:P-256:prime256v1", and returns their Go names. It returns nil
// for an empty list or "auto", which means the default of crypto/tls, including hybrid
// post-quantum groups. The order of preference is that of crypto/tls.
//
// The syntax of OpenSSL 3.5 is accepted: '/' separates like ':', '*' has no effect, and
// '?' makes a group optional. Unsupported groups that are not optional are errors.
func CheckCurves(s string) ([]string, error) {
	ids, err := parseCurves(s)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, id := range ids {
		names = append(names, id.String())
	}
	return names, nil
}

func parseCurves(s string) ([]tls.CurveID, error) {
	if len(s) > MaxCurves {
		return nil, fmt.Errorf("the list of groups has %d bytes: at most %d are read", len(s), MaxCurves)
	}
	if s = strings.TrimSpace(s); s == "" || strings.EqualFold(s, "auto") {
		return nil, nil
	}
	var ids []tls.CurveID
	var unknown, absent []string
	for item := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(":/, ", r) }) {
		name := strings.TrimLeft(item, "?*")
		optional := strings.Contains(item[:len(item)-len(name)], "?")
		id, ok := groups[strings.ToLower(name)]
		switch {
		case ok:
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		case optional:
		case absentGroup(strings.ToLower(name)):
			absent = append(absent, name)
		default:
			unknown = append(unknown, name)
		}
	}
	if err := groupProblem(unknown, absent); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, errors.New("the list leaves no group: leave it empty for the automatic choice")
	}
	return ids, nil
}

func absentGroup(name string) bool {
	return slices.Contains(absentGroups, name) || strings.HasPrefix(name, "sect") || strings.HasPrefix(name, "brainpoolp")
}

func groupProblem(unknown, absent []string) error {
	var say []string
	if len(unknown) > 0 {
		say = append(say, fmt.Sprintf("unknown key exchange groups: %q", few(unknown)))
	}
	if len(absent) > 0 {
		say = append(say, fmt.Sprintf("key exchange groups crypto/tls does not offer: %q", few(absent)))
	}
	if len(say) == 0 {
		return nil
	}
	return errors.New(strings.Join(say, "; "))
}

// classic reports whether one of ids can be used below TLS 1.3, which has no hybrid
// groups. nil means the default, which can.
func classic(ids []tls.CurveID) bool {
	return ids == nil || slices.ContainsFunc(ids, func(id tls.CurveID) bool {
		return id == tls.X25519 || id == tls.CurveP256 || id == tls.CurveP384 || id == tls.CurveP521
	})
}
