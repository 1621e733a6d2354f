package farm

import (
	"cmp"
	"strings"
)

// TransferKey is a TSIG key shared by a gslb farm and its secondaries (RFC 8945).
type TransferKey struct {
	// Algorithm of the signatures; empty means TransferSHA256.
	Algorithm TransferAlgorithm `json:"algorithm,omitempty"`
	// Name is the shared name of the key, a DNS name without a trailing dot.
	Name string `json:"name"`
	// Secret is the key in base64, sealed when stored or shown.
	Secret Secret `json:"secret"`
}

// TransferAlgorithm is a recommended algorithm of RFC 8945 §6.
type TransferAlgorithm string

// The algorithms.
const (
	TransferSHA256 TransferAlgorithm = "hmac-sha256"
	TransferSHA384 TransferAlgorithm = "hmac-sha384"
	TransferSHA512 TransferAlgorithm = "hmac-sha512"
)

// TransferAlgorithms lists every one.
func TransferAlgorithms() []TransferAlgorithm {
	return []TransferAlgorithm{TransferSHA256, TransferSHA384, TransferSHA512}
}

// EffectiveAlgorithm returns the algorithm, or the default.
func (k *TransferKey) EffectiveAlgorithm() TransferAlgorithm {
	return cmp.Or(k.Algorithm, TransferSHA256)
}

// String returns the key in dig syntax: [algorithm:]name:secret.
func (k TransferKey) String() string {
	text := k.Name + ":" + string(k.Secret)
	if k.EffectiveAlgorithm() != TransferSHA256 {
		text = string(k.Algorithm) + ":" + text
	}
	return text
}

// NewTransferKey parses the output of String. Names are case-insensitive.
func NewTransferKey(text string) (k TransferKey, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) == 3 {
		if k.Algorithm = TransferAlgorithm(strings.ToLower(parts[0])); k.Algorithm == TransferSHA256 {
			k.Algorithm = ""
		}
		parts = parts[1:]
	}
	if len(parts) != 2 {
		return k, false
	}
	k.Name, k.Secret = strings.TrimSuffix(strings.ToLower(parts[0]), "."), Secret(parts[1])
	return k, k.Name != "" && k.Secret != ""
}

// SecretTransferKey is the sealing purpose of transfer keys.
const SecretTransferKey = "transfer key"
