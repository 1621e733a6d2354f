package sign

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/wire"
)

var apex = []byte("\x07example\x00")

func keys(t testing.TB, states ...farm.KeyState) *Keys {
	t.Helper()
	z := farm.Zone{Name: "example", Signing: farm.SignEd25519}
	for _, state := range states {
		public, private, err := rdata.NewKey(farm.SignEd25519)
		if err != nil {
			t.Fatal(err)
		}
		z.Keys = append(z.Keys, farm.ZoneKey{Algorithm: farm.SignEd25519, State: state, Public: public, Private: farm.Secret(private)})
	}
	out, err := Open(&z, apex)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// of returns the data of the single signature of a name's address.
func (s *Signer) of(t testing.TB, k *Keys, name string, of Purpose) []byte {
	t.Helper()
	owner := append(append([]byte{byte(len(name))}, name...), apex...)
	s.Set(k, owner, wire.TypeA, 60)
	s.Record(owner, wire.TypeA, 60, []byte{192, 0, 2, 1})
	var out []byte
	if !s.Sign(k, wire.TypeA, of, func(data []byte) bool {
		out = append([]byte(nil), data...)
		return true
	}) {
		t.Fatal("it is not signed")
	}
	return out
}

func (s *Signer) made() int {
	n := 0
	for _, list := range [][]kept{s.sets, s.others} {
		for i := range list {
			if list[i].ends != 0 {
				n++
			}
		}
	}
	return n
}

func times(data []byte) (begins, ends int64) {
	return int64(binary.BigEndian.Uint32(data[12:])), int64(binary.BigEndian.Uint32(data[8:]))
}

// A signature is valid when sent, and for at least a week after that.
func TestSignaturesAreAlwaysFresh(t *testing.T) {
	k, now := keys(t, farm.KeyActive), int64(1_800_000_000)
	s := Signer{Now: func() int64 { return now }}
	before, made := "", 0
	for range 24 * 60 {
		data := s.of(t, k, "www", Existing)
		begins, ends := times(data)
		if begins > now-1800 || ends-now < fresh {
			t.Fatalf("at %d it holds from %d to %d", now, begins, ends)
		}
		if string(data) != before {
			before = string(data)
			made++
		}
		now += 3600
	}
	if made < 8 || made > 10 { // 60 days
		t.Errorf("it was made %d times in 60 days", made)
	}
}

func TestClockMovingBackRenewsSignatures(t *testing.T) {
	k, now := keys(t, farm.KeyActive), int64(1_800_000_000)
	s := Signer{Now: func() int64 { return now }}
	s.of(t, k, "www", Existing)
	now -= 24 * 3600
	if begins, _ := times(s.of(t, k, "www", Existing)); begins > now {
		t.Errorf("at %d it begins at %d", now, begins)
	}
}

// Different sets have different signatures; the same set uses the cached one.
func TestSignaturesDifferPerSet(t *testing.T) {
	one, two := keys(t, farm.KeyActive), keys(t, farm.KeyActive)
	s := Signer{}
	seen := map[string]string{}
	sign := func(what string, k *Keys, owner []byte, kind uint16, ttl uint32, data ...[]byte) {
		s.Set(k, owner, kind, ttl)
		for _, d := range data {
			s.Record(owner, kind, ttl, d)
		}
		s.Sign(k, kind, Existing, func(d []byte) bool {
			signature := string(d[len(d)-signatureSize:])
			if other := seen[signature]; other != "" {
				t.Errorf("%s has the signature of %s, want \"\"", what, other)
			}
			seen[signature] = what
			return true
		})
	}
	a, b, www, ftp := []byte{192, 0, 2, 1}, []byte{192, 0, 2, 2}, append([]byte("\x03www"), apex...), append([]byte("\x03ftp"), apex...)
	sign("one", one, www, wire.TypeA, 60, a)
	sign("another key", two, www, wire.TypeA, 60, a)
	sign("another name", one, ftp, wire.TypeA, 60, a)
	sign("another type", one, www, wire.TypeTXT, 60, a)
	sign("another time", one, www, wire.TypeA, 61, a)
	sign("another address", one, www, wire.TypeA, 60, b)
	sign("both", one, www, wire.TypeA, 60, a, b)
	if n := s.made(); n != len(seen) {
		t.Errorf("%d are kept, want %d", n, len(seen))
	}
	if first, again := s.of(t, one, "www", Existing), s.of(t, one, "www", Existing); string(first) != string(again) || s.made() != len(seen) {
		t.Error("the same is signed twice")
	}
}

// Signatures of random names do not replace the signatures of a zone.
func TestRandomNamesEvictNoZoneSignature(t *testing.T) {
	k := keys(t, farm.KeyActive)
	s := Signer{}
	for i := range 200 {
		s.of(t, k, fmt.Sprint("name", i), Existing)
	}
	before := map[string]string{}
	for i := range 200 {
		before[fmt.Sprint("name", i)] = string(s.of(t, k, fmt.Sprint("name", i), Existing))
	}
	for i := range 2 * synthesized * ways {
		s.of(t, k, fmt.Sprint("x", i), Synthesized)
	}
	for i := range s.sets {
		s.sets[i].signature = [signatureSize]byte{1} // marks cached signatures
	}
	for name := range before {
		if data := s.of(t, k, name, Existing); data[len(data)-signatureSize] != 1 {
			t.Errorf("%s was pushed out", name)
		}
	}
}

// The least recently used signature of a set is replaced.
func TestLeastRecentlyUsedSignatureIsEvicted(t *testing.T) {
	k := keys(t, farm.KeyActive)
	s := Signer{}
	s.memory(Existing)
	s.sets = s.sets[:ways] // one set
	for i := range 50 {
		s.of(t, k, "www", Existing)
		s.of(t, k, fmt.Sprint("x", i), Existing)
	}
	found := false
	for i := range s.sets {
		found = found || string(s.sets[i].message[headSize+len(apex):][:4]) == "\x03www"
	}
	if !found {
		t.Error("a frequently used signature was evicted")
	}
}

// Wildcards do not count as labels, nor does the root (RFC 4034 §3.1.3).
func TestLabels(t *testing.T) {
	for name, want := range map[string]byte{"\x00": 0, "\x07example\x00": 1, "\x03www\x07example\x00": 2, "\x01*\x07example\x00": 1, "\x02*a\x07example\x00": 2} {
		if got := labels([]byte(name)); got != want {
			t.Errorf("%q has %d labels, want %d", name, got, want)
		}
	}
}

func TestMismatchedKeyPairsAreRefused(t *testing.T) {
	for _, of := range farm.SigningAlgorithms() {
		public, _, err := rdata.NewKey(of)
		if err != nil {
			t.Fatal(err)
		}
		_, private, _ := rdata.NewKey(of)
		z := farm.Zone{Name: "example", Signing: of, Keys: []farm.ZoneKey{{Algorithm: of, State: farm.KeyActive, Public: public, Private: farm.Secret(private)}}}
		if _, err := Open(&z, apex); err == nil {
			t.Errorf("%s: the private key of another key is accepted", of)
		}
		z.Keys = nil
		if _, err := Open(&z, apex); err == nil {
			t.Errorf("%s: a zone without keys is signed", of)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	k := keys(b, farm.KeyActive)
	s := Signer{}
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			owner := []byte("\x03www\x07example\x00")
			s.Set(k, owner, wire.TypeA, 60)
			s.Record(owner, wire.TypeA, 60, []byte{192, 0, 2, 1})
			s.Sign(k, wire.TypeA, Existing, func([]byte) bool { return true })
		}
	})
}

// For unverified clients the rate of new signatures of random names is limited, without
// affecting others.
func TestRandomNamesAreSignedAtABoundedRate(t *testing.T) {
	k, now := keys(t, farm.KeyActive), int64(1_800_000_000)
	s := Signer{Now: func() int64 { return now }}
	signed := func(name string, of Purpose) bool {
		owner := append(append([]byte{byte(len(name))}, name...), apex...)
		s.Set(k, owner, wire.TypeNSEC, 60)
		s.Record(owner, wire.TypeNSEC, 60, []byte{0})
		return s.Sign(k, wire.TypeNSEC, of, func([]byte) bool { return true })
	}
	if !signed("known", Synthesized) {
		t.Fatal("a client with a verified address is refused")
	}
	for i := range MaxSynthesized {
		if !signed(fmt.Sprint("a", i), SynthesizedUnverified) {
			t.Fatalf("signature %d is refused, %d may be made", i+1, MaxSynthesized)
		}
	}
	last := fmt.Sprint("a", MaxSynthesized-1)
	before := s.made()
	for i := range 2 * synthesized * ways {
		if signed(fmt.Sprint("b", i), SynthesizedUnverified) {
			t.Fatal("one too many is made")
		}
	}
	if !signed(last, SynthesizedUnverified) || s.made() != before {
		t.Error("a cached signature is refused, or was evicted for a refused one")
	}
	if !signed("c", Synthesized) || !signed("www", Existing) {
		t.Error("a verified client, or a query for an existing name, is refused")
	}
	now++
	if !signed("b", SynthesizedUnverified) {
		t.Error("a second later it is refused, too")
	}
}
