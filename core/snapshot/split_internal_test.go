package snapshot

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// whole decodes a body in one call of the library.
func whole(content []byte) (*farm.Config, error) {
	var parts body
	if err := decoding.Unmarshal(content, &parts); err != nil {
		return nil, err
	}
	cfg := &farm.Config{Certificates: parts.Certificates, Authorities: parts.Authorities, Challenges: parts.Challenges}
	if parts.Farms != nil {
		cfg.Farms = make([]farm.Farm, len(parts.Farms))
	}
	for i, b := range parts.Farms {
		one, err := decodeFarm(b)
		if err != nil {
			return nil, err
		}
		cfg.Farms[i] = one.farm
	}
	return cfg, nil
}

// framed returns content after a header.
func framed(content []byte) []byte {
	b, err := Encode(1, &farm.Config{})
	if err != nil {
		panic(err)
	}
	b = append(b[:headerSize:headerSize], content...)
	for i := range 8 {
		b[24+i] = byte(uint64(len(content)) >> (8 * i))
	}
	sum := checksum(b)
	copy(b[sumAt:headerSize], sum[:])
	return b
}

// FuzzPartsAreTheWhole compares decoding by farm with decoding in one call.
func FuzzPartsAreTheWhole(f *testing.F) {
	one := farm.Farm{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("192.0.2.1"), VPort: 80, HTTP: farm.DefaultHTTP()}
	one.HTTP.Services = []farm.Service{{ID: 1, Name: "all", Backends: []farm.Backend{{ID: 1, Host: "192.0.2.9", Addr: netip.MustParseAddr("192.0.2.9"), Port: 80}}}}
	for _, cfg := range []*farm.Config{{}, {Farms: []farm.Farm{}}, {Farms: []farm.Farm{one}}, {Farms: []farm.Farm{one, one}, Certificates: []farm.Certificate{{Name: "a"}}}} {
		b, err := Encode(1, cfg)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[headerSize:])
		f.Add(b[headerSize : len(b)-1])
	}
	for _, body := range []string{
		"\xa1\x65farms\x81\xa0", "\xa1\x65farms\x82\xa0", "\xa1\x65farms\x81\xa1\x62id\xf9\x3c\x00", "\xa1\x65farms\x81\xc0\xa0", "\xa1\x65farms\x81\x9f\xff",
		"\xa2\x65farms\x81\xa0\x65farms\x80", "\xa1\x65farms\xf6", "\xa1\x65farms\x98\x01\xa0", "\xa1\x65farms\x81\xbf\xff", "\xa1\x65farms\x81\x62id", "\xa1\x65farmS\x81\xa0",
		"\xa1\x65farms\x81\x9b\xff\xff\xff\xff\xff\xff\xff\xff\xa0", "\xa1\x65farms\x81\xbb\x80\x00\x00\x00\x00\x00\x00\x00\xa0", "\xa1\x65farms\x81\xf8\x01", "\xa1\x65farms\x81\x18", "\xa1\x65farms\x81\xa0\x00",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) == 0 || content[0]>>5 != 5 || elements(content) > maxElements {
			return // Decode refuses it earlier
		}
		want, wrong := whole(content)
		_, got, err := Decode(framed(content))
		if (wrong == nil) != (err == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v: %+v, want %+v", err, wrong, got, want)
		}
	})
}
