package gslbfarm

import (
	"encoding/base64"
	"fmt"
	"regexp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// MaxKeys bounds the keys of a zone: the active, the published and the retired ones.
const MaxKeys = 8

const (
	maxKeyText = 1024
	maxKeyDays = 3650
)

var (
	// KeyDocument is a key of a zone in a document.
	KeyDocument = field.Table[farm.ZoneKey]{Fields: []field.Field[farm.ZoneKey]{
		field.Require(keyText("algorithm", field.Texts(farm.SigningAlgorithms()), "Signing algorithm of the key.", func(k *farm.ZoneKey) *farm.SigningAlgorithm { return &k.Algorithm })),
		field.Require(keyState),
		{
			Rule: field.Rule{Name: "since", Hints: field.Advanced(field.AtAnswers, "Since"), Kind: field.Number, Min: 0, Max: 1 << 40, About: "Time of the key's last state change, in seconds since 1970."},
			Get:  func(k *farm.ZoneKey) field.Value { return field.NumberValue(k.Since) },
			Set:  func(k *farm.ZoneKey, v field.Value) { k.Since = v.Number() },
		},
		{
			Rule: field.Rule{Name: "ds_seen", Hints: field.Advanced(field.AtAnswers, "DS record seen"), Kind: field.Number, Min: 0, Max: 1 << 40, Unset: field.NumberValue(0), About: "Since when the parent zone is seen to have the DS record of the key, in seconds since 1970; 0 while it is not."},
			Get:  func(k *farm.ZoneKey) field.Value { return field.NumberValue(k.DSSeen) },
			Set:  func(k *farm.ZoneKey, v field.Value) { k.DSSeen = v.Number() },
		},
		{
			Rule: field.Rule{Name: "ds_ttl", Hints: field.Advanced(field.AtAnswers, "TTL of DS records").In(field.Seconds), Kind: field.Number, Min: 0, Max: maxRecordTTL, Unset: field.NumberValue(0), About: "Longest TTL of the parent zone's DS records observed since the key was created, in seconds; 0 if none was observed."},
			Get:  func(k *farm.ZoneKey) field.Value { return field.NumberValue(int64(k.DSTTL)) },
			Set:  func(k *farm.ZoneKey, v field.Value) { k.DSTTL = farm.Seconds(v.Number()) },
		},
		field.Require(keyBytes("public_key", "The key as DNSKEY records have it, in base64.", func(k *farm.ZoneKey) *string { return &k.Public })),
		field.Require(keyBytes("private_key", "The private key in PKCS #8, as it is sealed.", func(k *farm.ZoneKey) *farm.Secret { return &k.Private })),
	}}
	// KeyUpdate is the body of a change of a key.
	KeyUpdate = field.Table[farm.ZoneKey]{Fields: []field.Field[farm.ZoneKey]{field.Require(keyToActive)}}
)

var keyState = keyText("state", field.Texts(farm.KeyStates()), "State of the key: published (visible to resolvers only), active (used for signing) or retired (no longer used for signing).", func(k *farm.ZoneKey) *farm.KeyState { return &k.State })

var keyToActive = keyText("state", []string{string(farm.KeyActive)}, "active has the key sign from now on; the one that signed is retired, and goes once nothing it signed is kept anywhere.", func(k *farm.ZoneKey) *farm.KeyState { return &k.State })

func keyText[T ~string](name string, values []string, about string,
	at func(*farm.ZoneKey) *T) field.Field[farm.ZoneKey] {
	return field.Field[farm.ZoneKey]{
		Rule: field.Rule{Name: name, Hints: field.Advanced(field.AtAnswers, keyLabels[name]), Kind: field.Text,
			Values: values, Sample: values[0], About: about},
		Get: func(k *farm.ZoneKey) field.Value { return field.TextValue(string(*at(k))) },
		Set: func(k *farm.ZoneKey, v field.Value) { *at(k) = T(v.Text()) },
	}
}

var keyLabels = map[string]string{"algorithm": "Algorithm", "state": "State", "public_key": "Public key", "private_key": "Private key"}

var keyCharacters = regexp.MustCompile(`^[A-Za-z0-9+/=_-]*$`)

func keyBytes[T ~string](name, about string, at func(*farm.ZoneKey) *T) field.Field[farm.ZoneKey] {
	return field.Field[farm.ZoneKey]{
		Rule: field.Rule{Name: name, Hints: field.Advanced(field.AtAnswers, keyLabels[name]), Kind: field.Text, MaxLen: maxKeyText, Pattern: keyCharacters, Must: "a key in base64", About: about},
		Get:  func(k *farm.ZoneKey) field.Value { return field.TextValue(string(*at(k))) },
		Set:  func(k *farm.ZoneKey, v field.Value) { *at(k) = T(v.Text()) },
	}
}

// KeyPath returns the Path of a key, by its position.
func KeyPath(farmName, zone string, position int) string {
	return fmt.Sprintf("%s key number %d", ZonePath(farmName, zone), position+1)
}

// checkKeys checks the rules of the keys of a zone: at most one is active, and at most one
// is published.
func checkKeys(f *farm.Farm, z *farm.Zone, yield func(field.Error) bool) bool {
	path := ZonePath(f.Name, z.Name)
	if n := len(z.Keys); n > MaxKeys && !yield(field.Error{Path: path, Field: "keys", Message: fmt.Sprintf("keys: at most %d are possible in a zone, got %d", MaxKeys, n)}) {
		return false
	}
	in := map[farm.KeyState]int{}
	for i := range z.Keys {
		k, path := &z.Keys[i], KeyPath(f.Name, z.Name, i)
		if !KeyDocument.Verify(path, k, nil, yield) {
			return false
		}
		if in[k.State]++; k.State != farm.KeyRetired && in[k.State] == 2 && !yield(field.Error{Path: path, Field: "state", Message: fmt.Sprintf("state: only one key of a zone may be %s", k.State)}) {
			return false
		}
		if !publicKey(k) && !yield(field.Error{Path: path, Field: "public_key", Message: fmt.Sprintf("public_key must be a key of %s as DNSKEY records have it, got %s", k.Algorithm, field.Show(k.Public))}) {
			return false
		}
	}
	return true
}

// publicKey reports whether the public key has the length of its algorithm (RFC 6605 §4,
// RFC 8080 §3).
func publicKey(k *farm.ZoneKey) bool {
	raw, err := base64.StdEncoding.DecodeString(k.Public)
	want := map[farm.SigningAlgorithm]int{farm.SignECDSA: 64, farm.SignEd25519: 32}[k.Algorithm]
	return err == nil && len(raw) == want
}
