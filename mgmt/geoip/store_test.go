package geoip_test

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	table "github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/geoip/geoiptest"
)

var world = []geoiptest.Place{
	{Net: "1.0.0.0/24", Country: "DE", Continent: "EU", At: []float64{51.5, -0.25}},
	{Net: "1.0.2.0/23", Country: "FR", Continent: "EU"},
	{Net: "10.0.0.0/8", Continent: "AF"},
	{Net: "2.0.0.0/8", Country: "us", Continent: "na", Flat: true},
	{Net: "2001:db8::/32", Country: "JP", Continent: "AS", At: []float64{95, 200}}, // invalid coordinates
}

func open(t *testing.T, dir string, changed func()) *geoip.Store {
	t.Helper()
	s, err := geoip.Open(dir, changed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// engineTable returns the table that the engine would get.
func engineTable(t *testing.T, s *geoip.Store) *table.Table {
	t.Helper()
	key, file, err := s.Memory()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m, err := shm.MapSealed(file)
	if err != nil {
		t.Fatal(err)
	}
	of, err := table.Map(m)
	if err != nil {
		t.Fatal(err)
	}
	if key != s.Key() || key != of.Key() {
		t.Errorf("it is called %s, %s and %s", key, s.Key(), of.Key())
	}
	return of
}

func find(of *table.Table, address string) string {
	p, _ := of.Find(netip.MustParseAddr(address))
	return p.String()
}

func TestADatabaseIsUsedAndKept(t *testing.T) {
	dir, changes := t.TempDir(), 0
	s := open(t, dir, func() { changes++ })
	if _, err := s.Info(); !errors.Is(err, geoip.ErrNone) || s.Table() != nil {
		t.Errorf("at first %v, %v", s.Table(), err)
	}
	if got := find(engineTable(t, s), "1.0.0.1"); got != "" {
		t.Errorf("at first it is %q, want \"\"", got)
	}
	none := s.Key()
	now := time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)
	info, err := s.Upload("ann", bytes.NewReader(geoiptest.Database(t, "Test-City", world...)), now)
	if err != nil {
		t.Fatal(err)
	}
	want := geoip.Info{Kind: "Test-City", By: "ann", Uploaded: now, Built: time.Unix(1_790_000_000, 0).UTC(), Countries: 4, Ranges4: 9, Ranges6: 3, Located: true}
	if info != want || changes != 1 {
		t.Errorf("%+v, %d changes; want %+v", info, changes, want)
	}
	gone := 0
	again := open(t, dir, func() { gone++ })
	if got, err := again.Info(); err != nil || got != want {
		t.Errorf("after a restart %+v, %v, want %+v", got, err, want)
	}
	if s.Key() == none || s.Key() != again.Key() {
		t.Errorf("%s, %s, %s", none, s.Key(), again.Key())
	}
	for address, want := range map[string]string{
		"1.0.0.255": "DE, EU (51.50, -0.25)", "1.0.1.0": "", "1.0.3.1": "FR, EU", "10.1.1.1": "AF", "2.3.4.5": "US, NA", "2001:db8::1": "JP, AS", "2001:db9::": "", "203.0.113.1": "",
	} {
		for _, of := range []*table.Table{engineTable(t, s), engineTable(t, again), again.Table()} {
			if got := find(of, address); got != want {
				t.Errorf("%s is in %q, want %q", address, got, want)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(dir, geoip.FileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if gone != 0 {
		t.Error("a restart is a change")
	}
	if err := again.Remove(); err != nil || gone != 1 || find(engineTable(t, again), "1.0.0.1") != "" {
		t.Errorf("%v, %d changes", err, gone)
	}
	if err := again.Remove(); !errors.Is(err, geoip.ErrNone) {
		t.Errorf("twice: %v", err)
	}
	if open(t, dir, nil).Table() != nil {
		t.Error("the table exists after it was deleted")
	}
}

func TestInvalidDatabaseChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, func() {})
	good := geoiptest.Database(t, "Test-Country", world...)
	if _, err := s.Upload("ann", bytes.NewReader(good), time.Now()); err != nil {
		t.Fatal(err)
	}
	key := s.Key()
	broken := bytes.Clone(good)
	for i := range 40 {
		broken[i] = 0xff
	}
	for want, raw := range map[string][]byte{
		"no database in the MaxMind DB format":   []byte("some text"),
		"no database in the MaxMind DB format: ": good[:len(good)/2],
		"damaged":                                broken,
		"neither country nor continent nor coordinates: it calls itself \"Test-ASN\"": geoiptest.Database(t, "Test-ASN", geoiptest.Place{Net: "1.0.0.0/8"}),
	} {
		_, err := s.Upload("ann", bytes.NewReader(raw), time.Now())
		var wrong *geoip.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		if s.Key() != key || find(engineTable(t, s), "1.0.0.1") == "" {
			t.Errorf("%q changed the table in use", want)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("it left %v, %v", list, err)
	}
}

// The file is replaced by rename, so it is complete at any time.
func TestDatabaseIsReplacedAtomically(t *testing.T) {
	dir, aside := t.TempDir(), filepath.Join(t.TempDir(), "aside")
	s := open(t, dir, func() {})
	for _, kind := range []string{"First", "Second"} {
		if _, err := s.Upload("ann", bytes.NewReader(geoiptest.Database(t, kind, world...)), time.Now()); err != nil {
			t.Fatal(err)
		}
		if kind == "First" {
			if err := os.Link(filepath.Join(dir, geoip.FileName), aside); err != nil {
				t.Fatal(err)
			}
		}
	}
	if raw, err := os.ReadFile(aside); err != nil || !bytes.Contains(raw, []byte("First")) || bytes.Contains(raw, []byte("Second")) {
		t.Errorf("the file of before was written over: %v", err)
	}
}

// An unreadable table is reported at the start, and everything else works.
func TestASavedDatabaseIsRestored(t *testing.T) {
	changes := 0
	s := open(t, t.TempDir(), func() { changes++ })
	if saved, err := s.Saved(); saved != nil || err != nil {
		t.Errorf("without one: %d bytes, %v", len(saved), err)
	}
	from := open(t, t.TempDir(), func() {})
	want, err := from.Upload("ann", bytes.NewReader(geoiptest.Database(t, "Test-City", world...)), time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	saved, err := from.Saved()
	if err != nil {
		t.Fatal(err)
	}
	for what, damaged := range map[string][]byte{"nothing": nil, "text": []byte("x\ny"), "half": saved[:len(saved)/2], "a head alone": []byte("{}\n")} {
		var wrong *geoip.Error
		if err := s.Restore(damaged); !errors.As(err, &wrong) || changes != 0 {
			t.Errorf("%s: %v, %d changes", what, err, changes)
		}
	}
	if err := s.Restore(saved); err != nil || changes != 1 {
		t.Errorf("%v, %d changes", err, changes)
	}
	if info, err := s.Info(); info != want || err != nil || engineTable(t, s).Key() != from.Key() {
		t.Errorf("restored is %+v, %v, want %+v", info, err, want)
	}
}

// A damaged database is not used, and can be removed.
func TestADamagedDatabaseCanBeRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, geoip.FileName)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := geoip.Open(dir, func() { t.Error("nobody used it") })
	if err == nil {
		t.Error("it is used")
	}
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if err := s.Remove(); !errors.Is(err, geoip.ErrNone) {
		t.Errorf("once more: %v", err)
	}
}

func TestDamagedTableIsReported(t *testing.T) {
	for _, raw := range []string{"", "x", "{}\n", "{}\nsluiceGI", "{\"kind\":1}\n"} {
		dir := t.TempDir()
		for _, name := range []string{geoip.FileName, "geoip.part"} { // the latter of an upload interrupted by a power failure
			if err := os.WriteFile(filepath.Join(dir, name), []byte(raw), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := geoip.Open(dir, func() {})
		if list, _ := os.ReadDir(dir); len(list) != 1 {
			t.Errorf("%q: it leaves %v", raw, list)
		}
		if err == nil || !strings.Contains(err.Error(), "the GeoIP database is not used") {
			t.Errorf("%q: %v", raw, err)
		}
		if s == nil || s.Table() != nil {
			t.Fatalf("%q: %v", raw, s)
		}
		if _, err := s.Upload("ann", bytes.NewReader(geoiptest.Database(t, "Test", world...)), time.Now()); err != nil {
			t.Errorf("%q: then %v", raw, err)
		}
	}
}

func TestMissingDataIsReportedPerFarm(t *testing.T) {
	s := open(t, t.TempDir(), func() {})
	of := func(a farm.DNSAlgorithm, b farm.Backend) *farm.Farm {
		return &farm.Farm{Global: &farm.GSLB{Services: []farm.DNSService{{Name: "first"}, {Name: "www", Algorithm: a, Backends: []farm.Backend{{}, b}}}}}
	}
	nearest, countries, continents := of(farm.DNSNearest, farm.Backend{}), of(farm.DNSGeo, farm.Backend{Countries: []string{"DE"}}), of(farm.DNSGeo, farm.Backend{Continents: []string{"EU"}})
	content := []*farm.Farm{{}, of(farm.DNSGeo, farm.Backend{}), of(farm.DNSWeight, farm.Backend{Countries: []string{"DE"}})}
	wants := func(f *farm.Farm, want string) {
		t.Helper()
		if got := strings.Join(s.Missing(f), "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, f := range []*farm.Farm{nearest, countries, continents} {
		wants(f, "service www chooses by where clients are, and nobody knows that: there is no GeoIP database")
	}
	upload := func(places ...geoiptest.Place) {
		if _, err := s.Upload("ann", bytes.NewReader(geoiptest.Database(t, "Test", places...)), time.Now()); err != nil {
			t.Fatal(err)
		}
		content = append(content, countries, continents)
	}
	upload(world[1])
	wants(nearest, "the GeoIP database Test has no coordinates")
	upload(world[0])
	for _, f := range append(content, nearest) {
		wants(f, "")
	}
}

func TestADatabaseHasABound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, geoiptest.Database(t, "Test", world...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := geoip.Read(path, 5); err == nil || !strings.Contains(err.Error(), "more than 5 nets") {
		t.Errorf("%v", err)
	}
	if _, _, err := geoip.Read(path, 1000); err != nil {
		t.Error(err)
	}
}

func FuzzDatabase(f *testing.F) {
	f.Add(geoiptest.Database(f, "Test", world...))
	f.Add([]byte("\xab\xcd\xefMaxMind.com"))
	path := filepath.Join(f.TempDir(), "db")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		mem, _, err := geoip.Read(path, 10_000)
		var wrong *geoip.Error
		if err != nil {
			if !errors.As(err, &wrong) {
				t.Errorf("%v", err)
			}
			return
		}
		if _, err := table.Open(mem); err != nil {
			t.Error(err)
		}
	})
}
