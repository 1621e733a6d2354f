package wire_test

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/dns/wire"
)

// parsedQuery returns a parsed query with a cookie, and the cookie in the answer.
func parsedQuery(t *testing.T, s *wire.Server, client, cookie string) (q wire.Query, sent string) {
	t.Helper()
	q.Client = netip.MustParseAddr(client)
	n := hex.EncodeToString([]byte{byte(len(cookie) / 2)})
	msg := raw(t, opted+www+isA+opt("000a 00"+n+cookie))
	if verdict, code := q.Parse(msg); verdict != wire.Serve {
		t.Fatal(code)
	}
	s.Verify(&q)
	var r wire.Reply
	r.Begin(&q, msg, make([]byte, 0, 512), 512)
	out := r.End(&q, s)
	return q, hex.EncodeToString(out[len(out)-24:])
}

func TestCookieIsValidPerClientForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &wire.Server{Secret: [2]uint64{1, 2}}
		const client, mine = "192.0.2.1", "0102030405060708"
		q, cookie := parsedQuery(t, s, client, mine)
		if q.Verified || cookie[:16] != mine || cookie[16:24] != "01000000" {
			t.Errorf("at first: %v %s", q.Verified, cookie)
		}
		if q, again := parsedQuery(t, s, client, cookie); !q.Verified || again != cookie {
			t.Errorf("the cookie is not recognised: %s, then %s", cookie, again)
		}
		for name, c := range map[string][2]string{
			"another client": {"192.0.2.2", cookie}, "IPv6": {"2001:db8::1", cookie},
			"another cookie of the client": {client, "1" + cookie[1:]}, "another hash": {client, cookie[:47] + string(cookie[47]^1)},
			"another version": {client, cookie[:17] + "2" + cookie[18:]},
		} {
			if q, _ := parsedQuery(t, s, c[0], c[1]); q.Verified {
				t.Errorf("%s: it is good", name)
			}
		}
		if q, _ := parsedQuery(t, &wire.Server{Secret: [2]uint64{1, 3}}, client, cookie); q.Verified {
			t.Error("of another server it is good")
		}
		time.Sleep(time.Hour)
		if q, _ := parsedQuery(t, s, client, cookie); !q.Verified {
			t.Error("after an hour it is not good")
		}
		time.Sleep(time.Second)
		if q, _ := parsedQuery(t, s, client, cookie); q.Verified {
			t.Error("after more than an hour it is good")
		}
	})
}

// The first of several cookies is used (RFC 7873 §5.2).
func TestFirstCookieWins(t *testing.T) {
	const client, mine, other = "192.0.2.1", "0102030405060708", "1112131415161718"
	s := &wire.Server{Secret: [2]uint64{1, 2}}
	_, good := parsedQuery(t, s, client, mine)
	for options, verified := range map[string]bool{"000a 0018" + good + "000a 0008" + other: true, "000a 0008" + other + "000a 0018" + good: false} {
		q := wire.Query{Client: netip.MustParseAddr(client)}
		if verdict, code := q.Parse(raw(t, opted+www+isA+opt(options))); verdict != wire.Serve {
			t.Fatal(code)
		}
		if s.Verify(&q); q.Verified != verified {
			t.Errorf("%s: verified %v, want %v", options, q.Verified, verified)
		}
	}
}

// The example of RFC 9018, appendix A.1, with our clock at its time.
func TestCookiesMatchRFC9018(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1559731985, 0)))
		s := &wire.Server{Secret: [2]uint64{0xd13c7a5b9f8e3fe5, 0}}
		secret := raw(t, "e5e973e5a6b2a43f48e7dc849e37bfcf")
		for i := range 8 {
			s.Secret[0] = s.Secret[0]<<8 | uint64(secret[7-i])
			s.Secret[1] = s.Secret[1]<<8 | uint64(secret[15-i])
		}
		if _, got := parsedQuery(t, s, "198.51.100.100", "2464c4abcf10c957"); got != "2464c4abcf10c957010000005cf79f111f8130c3eee29480" {
			t.Errorf("got %s, want %s", got, "2464c4abcf10c957010000005cf79f111f8130c3eee29480")
		}
	})
}

func TestEDNSHasNSIDAndClientSubnet(t *testing.T) {
	var q wire.Query
	msg := raw(t, opted+www+isA+opt("0003 0000 0008 0007 0001 18 00 c00002"))
	q.Client = netip.MustParseAddr("192.0.2.1")
	q.Parse(msg)
	var r wire.Reply
	r.Begin(&q, msg, make([]byte, 0, 512), 512)
	r.Scope, r.More, r.Rcode, r.AA = 20, wire.NotAuthoritative, wire.BadVers, true
	out := r.End(&q, &wire.Server{NSID: "one"})
	want := raw(t, "1234 8500 0001 0000 0000 0001"+www+isA+"00 0029 04d0 01 00 8000 0018 0008 0007 0001 18 14 c00002 0003 0003 6f6e65 000f 0002 0014")
	if !bytes.Equal(out, want) {
		t.Errorf("%x, want %x", out, want)
	}
	q.Parse(raw(t, opted+www+isA+opt("0008 0006 0002 10 00 2001")))
	r.Begin(&q, msg, make([]byte, 0, 512), 512)
	if out := r.End(&q, &wire.Server{}); !bytes.HasSuffix(out, raw(t, "0008 0006 0002 10 00 2001")) {
		t.Errorf("%x", out)
	}
	msg = raw(t, opted+www+isA+opt("0008 0004 0000 00 00")) // dig +subnet=0
	q.Parse(msg)
	r.Begin(&q, msg, make([]byte, 0, 512), 512)
	r.Scope = 24 // of the resolver's address
	if out := r.End(&q, &wire.Server{}); !bytes.HasSuffix(out, raw(t, "0008 0004 0000 00 00")) || q.From() != q.Client {
		t.Errorf("%x, from %s", out, q.From())
	}
}

// Encrypted answers to clients that pad are padded to whole blocks (RFC 8467 §4.1).
func TestEncryptedAnswersArePaddedOnRequest(t *testing.T) {
	for name, c := range map[string]struct {
		options string
		tls     bool
		filled  int // size of the message before, in bytes
		want    int
	}{
		"it pads":                 {"000c 0002 0000", true, 0, 468},
		"it pads, in clear":       {"000c 0002 0000", false, 0, 44},
		"it does not pad":         {"", true, 0, 44},
		"all but the option fits": {"000c 0000", true, 468 - 44 - 4, 468},
		"one byte too many":       {"000c 0000", true, 468 - 44 - 3, 936},
		"as long as can be":       {"000c 0000", true, wire.LargestTCP - 44, wire.LargestTCP},
	} {
		var q wire.Query
		msg := raw(t, opted+www+isA+opt(c.options))
		if verdict, code := q.Parse(msg); verdict != wire.Serve {
			t.Fatalf("%s: %v", name, code)
		}
		q.TLS = c.tls
		var r wire.Reply
		r.Begin(&q, msg, make([]byte, 0, wire.LargestTCP), wire.LargestTCP)
		bare := len(r.Msg) + 11
		r.Msg = append(r.Msg, make([]byte, c.filled+44-bare)...)
		if got := len(r.End(&q, &wire.Server{})); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}
