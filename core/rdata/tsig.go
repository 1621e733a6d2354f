package rdata

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// Reasons to reject a signed message (RFC 8945 §3).
var (
	ErrBadKey  = errors.New("BADKEY")
	ErrBadSig  = errors.New("BADSIG")
	ErrBadTime = errors.New("BADTIME")
)

// fudge is the permitted clock difference in seconds (RFC 8945 §10).
const fudge = 300

// room is the maximum UDP payload size that we advertise; no path needs fragmentation
// for it.
const room = 1232

// shortestKey is the minimum length of a key in bytes. Shorter ones could be guessed.
const shortestKey = 16

// CheckTransferKey describes the error in a key, or returns "".
func CheckTransferKey(k *farm.TransferKey) string {
	if _, err := Name(k.Name+".", ""); err != nil || strings.HasPrefix(k.Name, "*") {
		return "its name is no name of the DNS, as ns2.example.com"
	}
	if _, sealed := k.Secret.Sealed(); sealed {
		return ""
	}
	if raw, err := base64.StdEncoding.DecodeString(string(k.Secret)); err != nil || len(raw) < shortestKey {
		return fmt.Sprintf("its secret is no base64 of %d bytes or more, as tsig-keygen makes", shortestKey)
	}
	return ""
}

// Exchange signs the responses to a message (TSIG, RFC 8945).
type Exchange struct {
	key    farm.TransferKey
	mac    []byte // of the previous message
	timers bool   // a response was sent: later MACs cover only the timers
}

// digests are the hash functions of the algorithms.
var digests = map[farm.TransferAlgorithm]func() hash.Hash{
	farm.TransferSHA256: sha256.New,
	farm.TransferSHA384: sha512.New384,
	farm.TransferSHA512: sha512.New,
}

func keyName(k *farm.TransferKey) string { return strings.ToLower(dns.Fqdn(k.Name)) }

func keyAlgorithm(k *farm.TransferKey) string { return dns.Fqdn(string(k.EffectiveAlgorithm())) }

// Verified finds the key of a signed message and verifies the signature. The Exchange
// returned signs the responses. For a message that fails verification, refusal is the
// response to send.
func Verified(msg []byte, keys []farm.TransferKey) (e *Exchange, refusal []byte, err error) {
	var m dns.Msg
	if err := m.Unpack(msg); err != nil {
		return nil, nil, err
	}
	t := m.IsTsig()
	if t == nil {
		return nil, nil, dns.ErrNoSig
	}
	at := slices.IndexFunc(keys, func(k farm.TransferKey) bool {
		return strings.EqualFold(t.Hdr.Name, keyName(&k)) && strings.EqualFold(t.Algorithm, keyAlgorithm(&k))
	})
	if at < 0 {
		return nil, refused(&m, t, dns.RcodeBadKey), ErrBadKey
	}
	e = &Exchange{key: keys[at]}
	if e.mac, err = hex.DecodeString(t.MAC); err != nil {
		return nil, refused(&m, t, dns.RcodeBadSig), ErrBadSig
	}
	switch err := dns.TsigVerify(slices.Clone(msg), string(e.key.Secret), "", false); {
	case errors.Is(err, dns.ErrTime):
		return nil, e.late(&m, t), ErrBadTime
	case err != nil:
		return nil, refused(&m, t, dns.RcodeBadSig), ErrBadSig
	}
	return e, nil, nil
}

// refused returns the response to a message whose signature is invalid. It is unsigned
// and has the time of the message (RFC 8945 §5.3.2).
func refused(m *dns.Msg, t *dns.TSIG, code uint16) []byte {
	out, err := answerTo(m, t, code).Pack()
	if err != nil {
		return nil
	}
	return out
}

// late returns the response to a message with a wrong time. It is signed and has the
// local time (RFC 8945 §5.2.3).
func (e *Exchange) late(m *dns.Msg, t *dns.TSIG) []byte {
	r := answerTo(m, t, dns.RcodeBadTime)
	of := r.IsTsig()
	of.OtherLen, of.OtherData = 6, fmt.Sprintf("%012x", time.Now().Unix())
	out, _, err := dns.TsigGenerate(r, string(e.key.Secret), hex.EncodeToString(e.mac), false)
	if err != nil {
		return nil
	}
	return out
}

// answerTo returns the common part of refused and late: the time of the message, and
// EDNS if the message had it.
func answerTo(m *dns.Msg, t *dns.TSIG, code uint16) *dns.Msg {
	r := new(dns.Msg).SetRcode(m, dns.RcodeNotAuth)
	if o := m.IsEdns0(); o != nil {
		r.SetEdns0(room, o.Do())
	}
	r.Extra = append(r.Extra, &dns.TSIG{Hdr: dns.RR_Header{Name: t.Hdr.Name, Rrtype: dns.TypeTSIG, Class: dns.ClassANY},
		Algorithm: t.Algorithm, TimeSigned: t.TimeSigned, Fudge: fudge, OrigId: m.Id, Error: code})
	return r
}

// Size returns the maximum number of bytes that a signature adds to a response.
func (e *Exchange) Size() int {
	const head, times, longestMAC = 10, 16, 64 // RFC 8945 §4.2
	return len(keyName(&e.key)) + 1 + head + len(keyAlgorithm(&e.key)) + 1 + times + longestMAC
}

// Sign returns the signed response, or nil if that fails. It does not parse the records, so
// records of any type are signed.
func (e *Exchange) Sign(answer []byte) []byte {
	const counts, mostRecords = 10, 1<<16 - 1 // the additional records
	digest := digests[e.key.EffectiveAlgorithm()]
	secret, err := base64.StdEncoding.DecodeString(string(e.key.Secret))
	if digest == nil || err != nil || len(answer) < headerSize {
		return nil
	}
	additional := binary.BigEndian.Uint16(answer[counts:])
	name, algorithm := wireName(keyName(&e.key)), wireName(keyAlgorithm(&e.key))
	if name == nil || algorithm == nil || additional == mostRecords {
		return nil
	}
	timers := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Unix()))[2:] // 48 bits
	timers = binary.BigEndian.AppendUint16(timers, fudge)
	h := hmac.New(digest, secret)
	h.Write(binary.BigEndian.AppendUint16(nil, uint16(len(e.mac))))
	h.Write(e.mac)
	h.Write(answer)
	if e.timers {
		h.Write(timers)
	} else {
		h.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(slices.Clone(name), dns.ClassANY), 0))
		h.Write(algorithm)
		h.Write(timers)
		h.Write([]byte{0, 0, 0, 0}) // no error, no other data
	}
	e.mac, e.timers = h.Sum(nil), true

	out := append(make([]byte, 0, len(answer)+e.Size()), answer...)
	binary.BigEndian.PutUint16(out[counts:], additional+1)
	out = append(out, name...)
	out = binary.BigEndian.AppendUint16(out, dns.TypeTSIG)
	out = binary.BigEndian.AppendUint16(out, dns.ClassANY)
	out = append(out, 0, 0, 0, 0) // TTL
	out = binary.BigEndian.AppendUint16(out, uint16(len(algorithm)+len(timers)+2+len(e.mac)+6))
	out = append(append(out, algorithm...), timers...)
	out = append(binary.BigEndian.AppendUint16(out, uint16(len(e.mac))), e.mac...)
	out = append(out, answer[:2]...) // the original ID
	return append(out, 0, 0, 0, 0)   // no error, no other data
}

// headerSize is the size of the header of a message (RFC 1035 §4.1.1).
const headerSize = 12

// wireName returns a name in wire format, or nil if it is invalid.
func wireName(name string) []byte {
	var space [MaxName]byte
	n, err := dns.PackDomainName(name, space[:], 0, nil, false)
	if err != nil {
		return nil
	}
	return space[:n]
}
