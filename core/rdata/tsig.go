package rdata

import (
	"encoding/base64"
	"errors"
	"fmt"
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
	mac    string // of the previous message
	timers bool   // a response was sent: later MACs cover only the timers
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
	e = &Exchange{key: keys[at], mac: t.MAC}
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
	out, _, err := dns.TsigGenerate(r, string(e.key.Secret), e.mac, false)
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

// Sign returns the signed response, or nil if that fails.
func (e *Exchange) Sign(answer []byte) []byte {
	var m dns.Msg
	if m.Unpack(answer) != nil {
		return nil
	}
	m.Compress = true
	m.SetTsig(keyName(&e.key), keyAlgorithm(&e.key), fudge, time.Now().Unix())
	out, mac, err := dns.TsigGenerate(&m, string(e.key.Secret), e.mac, e.timers)
	if err != nil {
		return nil
	}
	e.mac, e.timers = mac, true
	return out
}
