package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/core/rdata/rdatatest"
	"github.com/sluicelb/sluice/dns/wire"
)

// answerOf returns a message with a set and its signatures.
func answerOf(t *testing.T, s *Signer, k *Keys, owner []byte, kind uint16, ttl uint32, data ...[]byte) []byte {
	t.Helper()
	msg, count := []byte{0, 1, 0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint16(0)
	put := func(kind uint16, data []byte) {
		msg = append(append(msg, owner...), byte(kind>>8), byte(kind), 0, 1)
		msg = binary.BigEndian.AppendUint32(msg, ttl)
		msg = binary.BigEndian.AppendUint16(msg, uint16(len(data)))
		msg = append(msg, data...)
		count++
	}
	slices.SortFunc(data, bytes.Compare)
	s.Set(k, owner, kind, ttl)
	for _, d := range data {
		put(kind, d)
		s.Record(owner, kind, ttl, d)
	}
	if !s.Sign(k, kind, Existing, func(data []byte) bool { put(wire.TypeRRSIG, data); return true }) {
		t.Fatal("it is not signed")
	}
	binary.BigEndian.PutUint16(msg[6:], count)
	return msg
}

// An independent validator accepts the signatures: for each algorithm, names of every depth
// and sets of any size, new and cached.
func TestSignaturesVerify(t *testing.T) {
	for _, of := range farm.SigningAlgorithms() {
		z := farm.Zone{Name: "example", Signing: of}
		var told []string
		for _, state := range farm.KeyStates() {
			public, private, err := rdata.NewKey(of)
			if err != nil {
				t.Fatal(err)
			}
			z.Keys = append(z.Keys, farm.ZoneKey{Algorithm: of, State: state, Public: public, Private: farm.Secret(private)})
			told = append(told, rdata.KeyOf("example", of, public).DNSKEY)
		}
		k, err := Open(&z, apex)
		if err != nil {
			t.Fatal(err)
		}
		if len(k.All()) != 3 || len(k.Published) != 2 || bytes.Equal(k.Published[1].DNSKEY, k.All()[2].DNSKEY) {
			t.Errorf("%s: %d keys, %d for the parent", of, len(k.All()), len(k.Published))
		}
		var keyData [][]byte
		for _, key := range k.All() {
			keyData = append(keyData, key.DNSKEY)
		}
		s := Signer{}
		believed := func(what string, msg []byte) {
			t.Helper()
			a, err := rdatatest.Read(msg, "example", told...)
			if err == nil {
				err = a.Check(time.Now())
			}
			if err != nil {
				t.Errorf("%s, %s: %v", of, what, err)
			}
		}
		for range 2 {
			believed("an address", answerOf(t, &s, k, []byte("\x03www\x07example\x00"), wire.TypeA, 60, []byte{192, 0, 2, 1}))
			believed("two", answerOf(t, &s, k, []byte("\x03www\x07example\x00"), wire.TypeA, 3600, []byte{192, 0, 2, 2}, []byte{192, 0, 2, 1}))
			believed("a deep name", answerOf(t, &s, k, []byte("\x01a\x01b\x01c\x07example\x00"), wire.TypeTXT, 1, []byte("\x01x"), []byte("\x02xx")))
			believed("the zone", answerOf(t, &s, k, apex, wire.TypeMX, 60, []byte("\x00\x0a\x04mail\x07example\x00")))
			believed("keys", answerOf(t, &s, k, apex, wire.TypeDNSKEY, 60, keyData...))
		}
	}
}

// The active key signs records, and all keys sign the DNSKEY set.
func TestActiveKeySignsRecordsAndAllSignDNSKEY(t *testing.T) {
	k := keys(t, farm.KeyPublished, farm.KeyActive, farm.KeyRetired)
	s := Signer{}
	tags := func(kind uint16) (list []uint16) {
		s.Set(k, apex, kind, 60)
		s.Record(apex, kind, 60, []byte{1})
		s.Sign(k, kind, Existing, func(data []byte) bool {
			list = append(list, binary.BigEndian.Uint16(data[16:]))
			return true
		})
		return list
	}
	if got := tags(wire.TypeTXT); !slices.Equal(got, []uint16{k.all[1].tag}) {
		t.Errorf("a set is signed by %d", got)
	}
	if got := tags(wire.TypeDNSKEY); len(got) != 3 {
		t.Errorf("the keys are signed by %d", got)
	}
	// Signing stops if the first signature does not fit.
	asked := 0
	s.Set(k, apex, wire.TypeDNSKEY, 60)
	if s.Sign(k, wire.TypeDNSKEY, Existing, func([]byte) bool { asked++; return false }) || asked != 1 {
		t.Errorf("%d signatures were offered", asked)
	}
}

func TestDamagedKeysAreRefused(t *testing.T) {
	public, private, err := rdata.NewKey(farm.SignEd25519)
	if err != nil {
		t.Fatal(err)
	}
	_, ecdsa, err := rdata.NewKey(farm.SignECDSA)
	if err != nil {
		t.Fatal(err)
	}
	good := farm.ZoneKey{Algorithm: farm.SignEd25519, State: farm.KeyActive, Public: public, Private: farm.Secret(private)}
	for what, damage := range map[string]func(*farm.ZoneKey){
		"public":    func(k *farm.ZoneKey) { k.Public = "%" },
		"private":   func(k *farm.ZoneKey) { k.Private = "%" },
		"no key":    func(k *farm.ZoneKey) { k.Private = farm.Secret(base64.StdEncoding.EncodeToString([]byte("x"))) },
		"other":     func(k *farm.ZoneKey) { k.Private = farm.Secret(ecdsa) },
		"retired":   func(k *farm.ZoneKey) { k.State = farm.KeyRetired },
		"published": func(k *farm.ZoneKey) { k.State = farm.KeyPublished },
	} {
		k := good
		damage(&k)
		if _, err := Open(&farm.Zone{Name: "example", Signing: farm.SignEd25519, Keys: []farm.ZoneKey{k}}, apex); err == nil {
			t.Errorf("%s: it was accepted", what)
		}
	}
	if k, err := Open(&farm.Zone{Name: "example", Keys: []farm.ZoneKey{good}}, apex); k != nil || err != nil {
		t.Errorf("a zone that is not signed has keys: %v, %v", k, err)
	}
}
