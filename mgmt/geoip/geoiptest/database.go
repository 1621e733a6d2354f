// Package geoiptest makes databases in the MaxMind DB format for tests.
package geoiptest

import (
	"bytes"
	"net"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// Place is the data of a network in a database.
type Place struct {
	Net, Country, Continent string
	At                      []float64 // latitude and longitude, nil for none
	// Flat stores it in top-level fields, like IPinfo.
	Flat bool
}

// Database returns a database of the type with the places.
func Database(t testing.TB, kind string, places ...Place) []byte {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: kind, IncludeReservedNetworks: true, RecordSize: 24, BuildEpoch: 1_790_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		_, ipnet, err := net.ParseCIDR(p.Net)
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.Insert(ipnet, p.data()); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if _, err := tree.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (p *Place) data() mmdbtype.Map {
	if p.Flat {
		return mmdbtype.Map{"country": mmdbtype.String("Somewhere"), "country_code": mmdbtype.String(p.Country), "continent": mmdbtype.String("Some"), "continent_code": mmdbtype.String(p.Continent)}
	}
	m := mmdbtype.Map{"registered_country": mmdbtype.Map{"iso_code": mmdbtype.String("XX")}}
	if p.Country != "" {
		m["country"] = mmdbtype.Map{"iso_code": mmdbtype.String(p.Country), "geoname_id": mmdbtype.Uint32(1)}
	}
	if p.Continent != "" {
		m["continent"] = mmdbtype.Map{"code": mmdbtype.String(p.Continent)}
	}
	if p.At != nil {
		m["location"] = mmdbtype.Map{"latitude": mmdbtype.Float64(p.At[0]), "longitude": mmdbtype.Float64(p.At[1]), "accuracy_radius": mmdbtype.Uint16(20)}
	}
	return m
}
