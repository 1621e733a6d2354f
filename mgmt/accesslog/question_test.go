package accesslog

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	records "github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

// question makes a record as a gslb farm writes it.
func question(name string, kind uint16, rcode uint16, client string) func(e *records.Entry) {
	return func(e *records.Entry) {
		e.Begin()
		e.Flags, e.Proto, e.Status, e.Farm = records.Logged|records.Watched, records.ProtoDNS, rcode, 1
		e.Client(netip.MustParseAddrPort(client))
		e.Method([]byte{byte(kind >> 8), byte(kind)})
		var wire []byte
		for label := range strings.SplitSeq(name, ".") {
			wire = append(append(wire, byte(len(label))), label...)
		}
		e.Host(wire)
	}
}

func TestQueriesAreLoggedByNameTypeAndCode(t *testing.T) {
	every := &farm.AccessLog{Fields: []farm.LogField{farm.LogName, farm.LogType, farm.LogRcode, farm.LogProtocol, farm.LogClient, farm.LogMethod, farm.LogHost, farm.LogStatus}}
	for _, c := range []struct {
		make func(*records.Entry)
		want string
	}{
		{question("www.example.com.", 1, 0, "192.0.2.1:53"), `{"name":"www.example.com.","type":"A","rcode":"NOERROR","protocol":"DNS/UDP","client":"192.0.2.1"}`},
		{question("a\"\n.b.", 65, 3, "192.0.2.1:53"), `{"name":"a\\\"\\010.b.","type":"HTTPS","rcode":"NXDOMAIN","protocol":"DNS/UDP","client":"192.0.2.1"}`},
		{question(".", 65280, 23, "192.0.2.1:53"), `{"name":".","type":"TYPE65280","rcode":"BADCOOKIE","protocol":"DNS/UDP","client":"192.0.2.1"}`},
	} {
		if got := strings.TrimSpace(formatted(every, c.make)); got != c.want {
			t.Errorf("%s, want\n%s", got, c.want)
		}
	}
}

func TestQueriesAreFiltered(t *testing.T) {
	a := newAppliance(t, config(func(*farm.AccessLog) {}))
	for filter, want := range map[string]string{
		"name=WWW.example.com": "www.example.com.", "name=www.example.com.": "www.example.com.", "rcode=nxdomain": "none.example.com.", "type=mx": "none.example.com.",
	} {
		f, err := ParseFilter([]string{filter})
		if err != nil {
			t.Fatal(err)
		}
		w, err := a.pump.Watch(1, f)
		if err != nil {
			t.Fatal(err)
		}
		a.put(question("www.example.com.", 1, 0, "192.0.2.1:53"))
		a.put(question("none.example.com.", 15, 3, "192.0.2.1:53"))
		if line := string(<-w.Lines); !strings.Contains(line, `"name":"`+want+`"`) {
			t.Errorf("%s: %s", filter, line)
		}
		w.Close()
	}
}

func TestTallyCountsEveryQuery(t *testing.T) {
	a := newAppliance(t, config(func(*farm.AccessLog) {}))
	tally, err := a.pump.Tally(1)
	if err != nil {
		t.Fatal(err)
	}
	const all = 1500 // more than a watcher gets
	for i := range all {
		a.put(question([]string{"www.example.com.", "www.example.com.", "none.example.com."}[i%3], 1, []uint16{0, 0, 3}[i%3], fmt.Sprintf("192.0.2.%d:53", i%5)))
	}
	a.put(nil) // no query
	eventually(t, func() bool { return tally.Sum(0).Questions >= all })
	s := tally.Sum(2)
	if s.Questions != all || len(s.Names) != 2 || s.Names[0] != (Counted[Question]{Key: Question{Name: "www.example.com.", Type: "A"}, Times: 1000}) ||
		s.Names[1].Times != 500 || len(s.Clients) != 2 || s.Clients[0].Key.String() != "192.0.2.0" || s.Clients[0].Times != 300 || len(s.Rcodes) != 2 || s.Rcodes[0].Key != "NOERROR" {
		t.Errorf("%+v", s)
	}
	tally.Close()
	tally.Close()
	a.put(question("late.example.com.", 1, 0, "192.0.2.1:53"))
	for range MaxWatchers {
		more, err := a.pump.Tally(1)
		if err != nil {
			t.Fatal(err)
		}
		defer more.Close()
	}
	if _, err := a.pump.Tally(1); err != ErrWatchers {
		t.Errorf("one too many: %v", err)
	}
}

// A client that invents names must not fill memory: names beyond the limit are counted only
// in the total.
func TestTallyHasABoundedNumberOfValues(t *testing.T) {
	m := map[int]uint64{}
	for i := range mostDistinct + 10 {
		count(m, i)
	}
	count(m, 0)
	if len(m) != mostDistinct || m[0] != 2 {
		t.Errorf("%d distinct values, the first counted %d times", len(m), m[0])
	}
}
