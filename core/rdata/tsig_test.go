package rdata_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

var shared = farm.TransferKey{Name: "ns2.example.com", Secret: farm.Secret(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef")))}

// signedQuery returns a signed query and its MAC.
func signedQuery(t *testing.T, at time.Time) (msg []byte, mac string) {
	t.Helper()
	m := new(dns.Msg).SetQuestion("Example.com.", dns.TypeSOA)
	m.SetTsig("NS2.example.com.", dns.HmacSHA256, 300, at.Unix())
	msg, mac, err := dns.TsigGenerate(m, string(shared.Secret), "", false)
	if err != nil {
		t.Fatal(err)
	}
	return msg, mac
}

// The first response covers the MAC of the query, each further one that of the previous
// response.
func TestAnswersAreSignedOneAfterTheOther(t *testing.T) {
	msg, mac := signedQuery(t, time.Now())
	before := string(msg)
	e, _, err := rdata.Verified(msg, []farm.TransferKey{{Name: "other", Secret: shared.Secret}, shared})
	if err != nil || string(msg) != before {
		t.Fatalf("%v; the message is as it was: %v", err, string(msg) == before)
	}
	m := new(dns.Msg)
	if err := m.Unpack(msg); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		answer, err := new(dns.Msg).SetReply(m).Pack()
		if err != nil {
			t.Fatal(err)
		}
		out := e.Sign(answer)
		if len(out) == 0 || len(out) > len(answer)+e.Size() {
			t.Fatalf("answer %d is %d bytes, %d without the signature", i, len(out), len(answer))
		}
		if err := dns.TsigVerify(append([]byte(nil), out...), string(shared.Secret), mac, i > 0); err != nil {
			t.Errorf("answer %d: %v", i, err)
		}
		var r dns.Msg
		if err := r.Unpack(out); err != nil {
			t.Fatal(err)
		}
		mac = r.IsTsig().MAC
	}
	if e.Sign([]byte("no message")) != nil {
		t.Error("an invalid message is signed")
	}
}

// With a wrong secret or an unknown key, the response has the time of the message, so
// that the sender does not assume a clock error (RFC 8945 §5.3.2). It is unsigned.
func TestARefusalHasTheTimeOfTheMessage(t *testing.T) {
	other := farm.TransferKey{Name: shared.Name, Secret: farm.Secret(base64.StdEncoding.EncodeToString([]byte("fedcba9876543210")))}
	at := time.Now().Add(-time.Minute)
	plain, _ := signedQuery(t, at)
	m := new(dns.Msg).SetQuestion("example.com.", dns.TypeSOA).SetEdns0(4096, true)
	m.SetTsig("ns2.example.com.", dns.HmacSHA256, 300, at.Unix())
	edns, _, err := dns.TsigGenerate(m, string(shared.Secret), "", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range [][]byte{plain, edns} {
		for _, c := range []struct {
			keys []farm.TransferKey
			err  error
			code uint16
		}{{[]farm.TransferKey{other}, rdata.ErrBadSig, dns.RcodeBadSig}, {nil, rdata.ErrBadKey, dns.RcodeBadKey}} {
			_, refusal, err := rdata.Verified(msg, c.keys)
			if !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			var r dns.Msg
			if err := r.Unpack(refusal); err != nil {
				t.Fatal(err)
			}
			s := r.IsTsig()
			if r.Rcode != dns.RcodeNotAuth || s == nil || s.Error != c.code || s.TimeSigned != uint64(at.Unix()) || s.MAC != "" || s.OtherLen != 0 {
				t.Errorf("%v: %s", c.err, &r)
			}
			if o := r.IsEdns0(); (o != nil) != (len(msg) == len(edns)) || o != nil && !o.Do() {
				t.Errorf("%v: EDNS is answered %v", c.err, o)
			}
		}
	}
}

// If the clocks differ by more than five minutes, the response has the local time.
func TestAMessageOfAnotherTimeIsRefused(t *testing.T) {
	for _, off := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		sent := time.Now().Add(off)
		msg, mac := signedQuery(t, sent)
		_, refusal, err := rdata.Verified(msg, []farm.TransferKey{shared})
		if !errors.Is(err, rdata.ErrBadTime) {
			t.Fatalf("%v: %v", off, err)
		}
		var r dns.Msg
		if err := r.Unpack(refusal); err != nil {
			t.Fatal(err)
		}
		s := r.IsTsig()
		if r.Rcode != dns.RcodeNotAuth || s.Error != dns.RcodeBadTime || s.MAC == "" || s.TimeSigned != uint64(sent.Unix()) || s.OtherLen != 6 || mac == "" {
			t.Errorf("%v: %s", off, &r)
		}
	}
}

func TestKeysOfSecondariesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		shared.String(): "", "a b:" + string(shared.Secret): "its name is no name", "*.x:" + string(shared.Secret): "its name is no name",
		"ns2:c2hvcnQ=": "16 bytes or more", "ns2:%": "no base64", "ns2:sealed-abc": "",
	} {
		k, ok := farm.NewTransferKey(text)
		if got := rdata.CheckTransferKey(&k); !ok || want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "ns2", "ns2:", ":x", "a:b:c:d"} {
		if k, ok := farm.NewTransferKey(text); ok {
			t.Errorf("%q is %+v", text, k)
		}
	}
	if k, _ := farm.NewTransferKey("HMAC-SHA512:NS2.Example.com.:AbC="); k.String() != "hmac-sha512:ns2.example.com:AbC=" {
		t.Errorf("%s", k)
	}
	if k, _ := farm.NewTransferKey("hmac-sha256:ns2:AbC="); k.String() != "ns2:AbC=" {
		t.Errorf("%s", k)
	}
}
