package farm

import (
	"cmp"
	"strings"
)

// TransferKey is a key that a gslb farm and the servers that copy its zones share (TSIG,
// RFC 8945).
type TransferKey struct {
	// Algorithm is that of the signatures; empty means TransferSHA256.
	Algorithm TransferAlgorithm `json:"algorithm,omitempty"`
	// Name is what both call the key, a name of the DNS without a dot at its end.
	Name string `json:"name"`
	// Secret is the key in base64, sealed wherever it is kept or shown.
	Secret Secret `json:"secret"`
}

// TransferAlgorithm is one of those of RFC 8945 §6 that are not to be given up.
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

// EffectiveAlgorithm is the algorithm in force.
func (k *TransferKey) EffectiveAlgorithm() TransferAlgorithm {
	return cmp.Or(k.Algorithm, TransferSHA256)
}

// String is the key as dig takes it: [algorithm:]name:secret.
func (k TransferKey) String() string {
	text := k.Name + ":" + string(k.Secret)
	if k.EffectiveAlgorithm() != TransferSHA256 {
		text = string(k.Algorithm) + ":" + text
	}
	return text
}

// NewTransferKey reads what String writes. Names are without case.
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

// SecretTransferKey is what keys of transfers are sealed for.
const SecretTransferKey = "transfer key"
