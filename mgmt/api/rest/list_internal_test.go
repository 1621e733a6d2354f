package rest

import (
	"errors"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/validate/field"
)

type word string

// thing is a list item. Hidden is not a filter field.
type thing struct {
	Name   string    `json:"thingname" filter:"name"`
	State  word      `json:"state"`
	Switch string    `json:"switch" enum:"true,false"`
	Number *int      `json:"number"`
	Tags   []string  `json:"tags"`
	Hidden string    `json:"-"`
	At     time.Time `json:"at"`
}

func aThing(i int) thing {
	t := thing{Name: "Thing" + strconv.Itoa(i), State: "up", Switch: "false", Tags: []string{"red"}, Hidden: "x", At: time.Date(2026, 1, i+1, 12, 0, 0, 0, time.UTC)}
	if i%10 == 3 {
		t.State, t.Switch, t.Number, t.Tags = "upper", "true", &i, []string{"blue", "Green"}
	}
	return t
}

// asked returns a call that lists items of that type, with a query.
func asked(t *testing.T, item reflect.Type, query string) *Call {
	t.Helper()
	return &Call{op: (&Operation{}).Pages(item), Request: httptest.NewRequest("GET", "/?"+query, nil)}
}

func TestListsAreHadInPartsAndByField(t *testing.T) {
	for _, c := range []struct {
		query string
		names []string
		total int // -1: absent
	}{
		{"", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"}, -1},
		{"limit=2", []string{"0", "1"}, 15},
		{"offset=13", []string{"13", "14"}, 15},
		{"offset=13&limit=1", []string{"13"}, 15},
		{"offset=15", nil, 15},
		{"offset=2147483647&limit=10000", nil, 15},
		{"name=thing1", []string{"1", "10", "11", "12", "13", "14"}, -1},
		{"name=THING1&limit=2&offset=1", []string{"10", "11"}, 6},
		{"state=upper", []string{"3", "13"}, -1},
		{"state=up&limit=1", []string{"0"}, 13},
		{"state=pp", nil, -1},
		{"state=Upper", []string{"3", "13"}, -1},
		{"switch=TRUE&limit=1&offset=1", []string{"13"}, 2},
		{"switch=true&limit=1&offset=1", []string{"13"}, 2},
		{"switch=tru", nil, -1},
		{"number=13", []string{"13"}, -1},
		{"number=1", nil, -1},
		{"tags=gree", []string{"3", "13"}, -1},
		{"at=2026-01-0", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}, -1},
		{"at=2026-01-04T13:00:00%2B01:00", []string{"3"}, -1},
		{"name=3&state=upper", []string{"3", "13"}, -1},
		{"name=", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"}, -1},
	} {
		for _, l := range []List[thing]{ListOf("", 15, aThing), NewList("", made(15))} {
			if err := l.pick(asked(t, l.of(), c.query)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range l.Params {
				got = append(got, one.Name[len("Thing"):])
			}
			total := -1
			if l.Total != nil {
				total = *l.Total
			}
			if !slices.Equal(got, c.names) || total != c.total || l.Params == nil {
				t.Errorf("%q: %q of %d, want %q of %d", c.query, got, total, c.names, c.total)
			}
		}
	}
}

func made(n int) (out []thing) {
	for i := range n {
		out = append(out, aThing(i))
	}
	return out
}

func TestPartsOfAListHaveBounds(t *testing.T) {
	for _, query := range []string{"limit=0", "limit=10001", "limit=x", "limit=-1", "offset=-1", "offset=2147483648", "offset=x"} {
		l := ListOf("", 15, aThing)
		var r *Rejection
		if err := l.pick(asked(t, l.of(), query)); !errors.As(err, &r) || r.Status != 400 {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func TestFieldsThatAreShownAreFilters(t *testing.T) {
	var names []string
	for _, q := range (&Operation{}).Pages(reflect.TypeFor[thing]()).queries {
		names = append(names, q.name+": "+q.description)
	}
	want := []string{
		"name: Only entries whose name contains this text", "thingname: Only entries whose thingname contains this text", "state: Only entries with this state", "switch: Only entries with this switch",
		"number: Only entries with this number", "tags: Only entries whose tags contains this text", "at: Only entries whose at contains this text",
		"limit: Maximum number of entries, 1 to 10000; defaults to all", "offset: Number of entries to skip",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

type aboutThing struct {
	ID int `json:"id"`
}

func (aboutThing) Table() (string, []field.Answered) {
	return "Thing", []field.Answered{
		{Param: field.Param{Name: "alias"}, Type: "string"},
		{Param: field.Param{Name: "mode", PossibleValues: []string{"a", "ab"}}, Type: "string", Whole: true},
		{Param: field.Param{Name: "weight"}, Type: "integer"},
	}
}

// shaped is a thing with two variants.
type shaped struct{ of any }

func (s shaped) Shown() any { return s.of }
func (shaped) Shapes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[View[aboutThing]](), reflect.TypeFor[thing]()}
}

func TestFiltersFindTheFieldsOfTables(t *testing.T) {
	l := []shaped{
		{View[aboutThing]{About: aboutThing{1}, Fields: map[string]any{"alias": "Front", "mode": "a", "weight": 10}}},
		{View[aboutThing]{About: aboutThing{2}, Fields: map[string]any{"alias": nil, "mode": "ab", "weight": 1}}},
		{thing{Name: "three"}},
	}
	for query, want := range map[string]int{"id=2": 1, "alias=front": 0, "mode=a": 0, "mode=ab": 1, "mode=AB": 1, "weight=1": 1, "name=re": 2} {
		items, _, err := Pick(asked(t, reflect.TypeFor[shaped](), query), len(l), func(i int) shaped { return l[i] })
		if err != nil || len(items) != 1 || !reflect.DeepEqual(items[0], l[want]) {
			t.Errorf("%s: %v %v", query, items, err)
		}
	}
}

// The cost of a page is independent of the length of the list. With a filter every item is
// built, but only matches are kept.
func TestPartsOfLongListsAreCheap(t *testing.T) {
	const all = 100_000
	made := 0
	item := func(i int) thing { made++; return aThing(i) }
	for query, want := range map[string]struct{ items, made int }{
		"limit=50&offset=99990":     {10, 10},
		"limit=50":                  {50, 50},
		"state=upper&limit=50":      {50, all},
		"name=Thing99999":           {1, all},
		"limit=10000&offset=100000": {0, 0},
		"state=upper&offset=9999":   {1, all},
		"state=nothing&limit=10000": {0, all},
	} {
		made = 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l := ListOf("", all, item)
		if err := l.pick(asked(t, l.of(), query)); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if len(l.Params) != want.items || made != want.made || cap(l.Params) > 2*want.items+1 {
			t.Errorf("%s: %d items with room for %d, %d made", query, len(l.Params), cap(l.Params), made)
		}
		if each := (after.TotalAlloc - before.TotalAlloc) / uint64(max(made, 1000)); each > 512 {
			t.Errorf("%s: %d bytes for each item", query, each)
		}
	}
}

// countedThing counts how often its fields are listed, which takes longer than a comparison.
type countedThing struct{ aboutThing }

var tablesListed int

func (c countedThing) Table() (string, []field.Answered) {
	tablesListed++
	return c.aboutThing.Table()
}

func TestFiltersListTheFieldsOfATypeOnce(t *testing.T) {
	const items = 1000
	l := ListOf("", items, func(int) View[countedThing] { return View[countedThing]{Fields: map[string]any{"alias": "Front"}} })
	if err := l.pick(asked(t, l.of(), "alias=front")); err != nil || len(l.Params) != items {
		t.Fatal(len(l.Params), err)
	}
	if tablesListed > 1 {
		t.Errorf("the fields are listed %d times for %d items", tablesListed, items)
	}
}

// The handler has chosen the items, e.g. by a faster way to the same result.
func TestAppliedFiltersAreNotAppliedAgain(t *testing.T) {
	l := ListOf("", 15, aThing).Applied("name")
	if err := l.pick(asked(t, l.of(), "name=thing4&state=upper&limit=1")); err != nil || len(l.Params) != 1 || *l.Total != 2 {
		t.Errorf("%v %v", l.Params, err)
	}
}
