package geoip

import (
	"errors"
	"fmt"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/sluicelb/sluice/core/geoip"
)

// Error describes an unusable database.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// MaxNets bounds the networks of a database, including those without data. A city
// database has five million. A malicious file may have vastly more.
const MaxNets = 20_000_000

// record is the data of a network in databases of MaxMind and DB-IP.
type record struct {
	Country struct {
		Code string `maxminddb:"iso_code"`
	} `maxminddb:"country"`
	Continent struct {
		Code string `maxminddb:"code"`
	} `maxminddb:"continent"`
	Location struct {
		Latitude  *float64 `maxminddb:"latitude"`
		Longitude *float64 `maxminddb:"longitude"`
	} `maxminddb:"location"`
}

// flat is the data of a network in databases of IPinfo.
type flat struct {
	Country   string `maxminddb:"country_code"`
	Continent string `maxminddb:"continent_code"`
}

func (r *record) place() (p geoip.Place) {
	p.Country, p.Continent = geoip.CodeOf(r.Country.Code), geoip.CodeOf(r.Continent.Code)
	at := &r.Location
	if at.Latitude != nil && at.Longitude != nil && inRange(*at.Latitude, 90) && inRange(*at.Longitude, 180) {
		p.Located, p.Latitude, p.Longitude = true, float32(*at.Latitude), float32(*at.Longitude)
	}
	return p
}

func inRange(degrees, most float64) bool { return degrees >= -most && degrees <= most }

// Read converts a database file to the memory of a table, and returns the type that the
// database declares. It fails with *Error if the file is invalid or damaged, has no
// location data, or has more than most networks.
func Read(path string, most int) (mem []byte, kind string, err error) {
	db, err := maxminddb.Open(path)
	if err != nil {
		return nil, "", wrong("it is no database in the MaxMind DB format: %v", err)
	}
	defer db.Close()
	b, places := geoip.NewBuilder(), map[uintptr]geoip.Place{}
	some := false
	n := 0
	for net := range db.Networks(maxminddb.IncludeNetworksWithoutData()) {
		if err := net.Err(); err != nil {
			return nil, "", wrong("it is damaged: %v", err)
		}
		if n++; n > most {
			return nil, "", wrong("it has more than %d nets", most)
		}
		if !net.Found() {
			continue
		}
		place, known := places[net.Offset()] // networks share their data
		if !known {
			if place, err = placeOf(net); err != nil {
				return nil, "", wrong("it is damaged: %v", err)
			}
			places[net.Offset()] = place
		}
		some = some || place != geoip.Place{}
		if err := b.Add(net.Prefix(), place); errors.Is(err, geoip.ErrOrder) {
			return nil, "", wrong("it is damaged: the net %v is not in order", net.Prefix())
		}
	}
	if !some {
		return nil, "", wrong("its nets have neither country nor continent nor coordinates: it calls itself %.80q", db.Metadata.DatabaseType)
	}
	return b.Memory(int64(db.Metadata.BuildEpoch)), db.Metadata.DatabaseType, nil
}

func placeOf(net maxminddb.Result) (geoip.Place, error) {
	var r record
	if err := net.Decode(&r); err == nil && r.place() != (geoip.Place{}) {
		return r.place(), nil
	}
	var f flat // country and continent are strings in such databases, which fails above
	if err := net.Decode(&f); err != nil {
		return geoip.Place{}, err
	}
	return geoip.Place{Country: geoip.CodeOf(f.Country), Continent: geoip.CodeOf(f.Continent)}, nil
}
