package validate

import (
	"encoding/base64"
	"fmt"
	"regexp"

	"github.com/sluicelb/sluice/core/farm"
)

// MaxKeys bounds the keys of a zone: the active, the published and the retired ones.
const MaxKeys = 8

const (
	maxKeyText = 1024
	maxKeyDays = 3650
)

var (
	// ZoneKeyDocument is a key of a zone in a document.
	ZoneKeyDocument = Table[farm.ZoneKey]{fields: []field[farm.ZoneKey]{
		require(keyText("algorithm", texts(farm.SigningAlgorithms()), "Signing algorithm of the key.", func(k *farm.ZoneKey) *farm.SigningAlgorithm { return &k.Algorithm })),
		require(keyState),
		{
			rule: rule{name: "since", hints: advanced(atAnswers, "Since"), kind: kindNumber, min: 0, max: 1 << 40, about: "Time of the key's last state change, in seconds since 1970."},
			get:  func(k *farm.ZoneKey) Value { return numberValue(k.Since) },
			set:  func(k *farm.ZoneKey, v Value) { k.Since = v.number },
		},
		{
			rule: rule{name: "ds_seen", hints: advanced(atAnswers, "DS record seen"), kind: kindNumber, min: 0, max: 1 << 40, unset: numberValue(0), about: "Since when the parent zone is seen to have the DS record of the key, in seconds since 1970; 0 while it is not."},
			get:  func(k *farm.ZoneKey) Value { return numberValue(k.DSSeen) },
			set:  func(k *farm.ZoneKey, v Value) { k.DSSeen = v.number },
		},
		{
			rule: rule{name: "ds_ttl", hints: advanced(atAnswers, "TTL of DS records").in(inSeconds), kind: kindNumber, min: 0, max: maxRecordTTL, unset: numberValue(0), about: "Longest TTL of the parent zone's DS records observed since the key was created, in seconds; 0 if none was observed."},
			get:  func(k *farm.ZoneKey) Value { return numberValue(int64(k.DSTTL)) },
			set:  func(k *farm.ZoneKey, v Value) { k.DSTTL = farm.Seconds(v.number) },
		},
		require(keyBytes("public_key", "The key as DNSKEY records have it, in base64.", func(k *farm.ZoneKey) *string { return &k.Public })),
		require(keyBytes("private_key", "The private key in PKCS #8, as it is sealed.", func(k *farm.ZoneKey) *farm.Secret { return &k.Private })),
	}}
	// ZoneKeyUpdate is the body of a change of a key.
	ZoneKeyUpdate = Table[farm.ZoneKey]{fields: []field[farm.ZoneKey]{require(keyToActive)}}
)

var keyState = keyText("state", texts(farm.KeyStates()), "State of the key: published (visible to resolvers only), active (used for signing) or retired (no longer used for signing).", func(k *farm.ZoneKey) *farm.KeyState { return &k.State })

var keyToActive = keyText("state", []string{string(farm.KeyActive)}, "active has the key sign from now on; the one that signed is retired, and goes once nothing it signed is kept anywhere.", func(k *farm.ZoneKey) *farm.KeyState { return &k.State })

func keyText[T ~string](name string, values []string, about string, at func(*farm.ZoneKey) *T) field[farm.ZoneKey] {
	return field[farm.ZoneKey]{
		rule: rule{name: name, hints: advanced(atAnswers, keyLabels[name]), kind: kindText, values: values, sample: values[0], about: about},
		get:  func(k *farm.ZoneKey) Value { return textValue(string(*at(k))) },
		set:  func(k *farm.ZoneKey, v Value) { *at(k) = T(v.text) },
	}
}

var keyLabels = map[string]string{"algorithm": "Algorithm", "state": "State", "public_key": "Public key", "private_key": "Private key"}

var keyCharacters = regexp.MustCompile(`^[A-Za-z0-9+/=_-]*$`)

func keyBytes[T ~string](name, about string, at func(*farm.ZoneKey) *T) field[farm.ZoneKey] {
	return field[farm.ZoneKey]{
		rule: rule{name: name, hints: advanced(atAnswers, keyLabels[name]), kind: kindText, maxLen: maxKeyText, pattern: keyCharacters, must: "a key in base64", about: about},
		get:  func(k *farm.ZoneKey) Value { return textValue(string(*at(k))) },
		set:  func(k *farm.ZoneKey, v Value) { *at(k) = T(v.text) },
	}
}

// KeyPath returns the Path of a key, by its position.
func KeyPath(farmName, zone string, position int) string {
	return fmt.Sprintf("%s key number %d", ZonePath(farmName, zone), position+1)
}

// checkKeys checks the rules of the keys of a zone: at most one is active, and at most one
// is published.
func checkKeys(f *farm.Farm, z *farm.Zone, yield func(Error) bool) bool {
	path := ZonePath(f.Name, z.Name)
	if n := len(z.Keys); n > MaxKeys && !yield(Error{path, "keys", fmt.Sprintf("keys: at most %d are possible in a zone, got %d", MaxKeys, n)}) {
		return false
	}
	in := map[farm.KeyState]int{}
	for i := range z.Keys {
		k, path := &z.Keys[i], KeyPath(f.Name, z.Name, i)
		if !ZoneKeyDocument.verify(path, k, nil, yield) {
			return false
		}
		if in[k.State]++; k.State != farm.KeyRetired && in[k.State] == 2 && !yield(Error{path, "state", fmt.Sprintf("state: only one key of a zone may be %s", k.State)}) {
			return false
		}
		if !publicKey(k) && !yield(Error{path, "public_key", fmt.Sprintf("public_key must be a key of %s as DNSKEY records have it, got %s", k.Algorithm, show(k.Public))}) {
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
