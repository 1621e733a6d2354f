package probe_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// answers is a check whose Run is a function of the test.
type answers func(ctx context.Context, say probe.Say) error

func (a answers) Run(ctx context.Context, _ probe.Network, _ probe.Target, say probe.Say) error {
	return a(ctx, say)
}

// one returns a Known with a single check, check_x, which has a flag of each kind.
func one(run answers, got *probe.Text) *probe.Known {
	return &probe.Known{Checks: map[string]probe.Make{"check_x": func(f *probe.Flags) func() (probe.Probe, error) {
		var host probe.Host
		var port probe.Port
		var secret probe.Text
		var deep bool
		f.Host(&host, "H hostname")
		f.Port(&port, "p port")
		f.Text(got, "s send")
		f.Secret(&secret, "P password")
		f.Bool(&deep, "d deep")
		f.Maybe("S ssl", func(v string) error { *got = probe.Text("tls " + v); return nil })
		f.Times()
		return func() (probe.Probe, error) { return run, nil }
	}}}
}

func healthy(context.Context, probe.Say) error { return nil }

func TestFlagsAreReadAsPluginsReadThem(t *testing.T) {
	for command, want := range map[string]string{
		`check_x -s hello`:                         "hello",
		`check_x -shello -H HOST -p PORT`:          "hello",
		`check_x --send=hello -p 80`:               "hello",
		`check_x --send hello --port=80`:           "hello",
		`check_x -ds 'a b'`:                        "a b",
		`check_x -s "a \"b\" \\ $"`:                `a "b" \ $`,
		`check_x -s a\ b`:                          "a b",
		`check_x -s 'x|y;$(z)'`:                    "x|y;$(z)",
		`check_x -S`:                               "tls ",
		`check_x -S1.2 -d`:                         "tls 1.2",
		`check_x --ssl=1.3`:                        "tls 1.3",
		`/usr/lib/nagios/plugins/check_x -s hello`: "hello",
		"\t check_x\t-s  hello ":                   "hello",
	} {
		var got probe.Text
		if _, err := one(healthy, &got).Parse(command); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
}

func TestBadCommandsAreRefusedWithTheirReason(t *testing.T) {
	for command, want := range map[string]string{
		``:                                     "the command is empty",
		`check_x -p 0`:                         `check_x: -p: "0" is no port`,
		`check_x -p 65536`:                     "is no port",
		`check_x -p`:                           "-p wants a value",
		`check_x --port`:                       "--port wants a value",
		`check_x --deep=1`:                     "--deep takes no value",
		`check_x -q`:                           "check_x has no flag -q here",
		`check_x --quiet=1`:                    "check_x has no flag --quiet here",
		`check_x -H 'a b'`:                     "is no host",
		`check_x -H -x`:                        "is no host",
		`check_x -t 0`:                         "is no time in seconds",
		`check_x -t NaN`:                       "is no time in seconds",
		`check_x -t 3601`:                      "is no time in seconds",
		`check_x -P a hunter2`:                 "a word belongs to no flag",
		`check_x -s 'a`:                        "a quote is not closed",
		`check_x -s "a`:                        "a quote is not closed",
		`check_x \`:                            "ends with a backslash",
		`check_x; rm -rf /`:                    `';' is for a shell`,
		`check_x | grep open`:                  `'|' is for a shell`,
		`check_x -s $(id)`:                     `'$' is for a shell`,
		`check_x -s "$HOME"`:                   "use single quotes",
		"check_x -s `id`":                      "is for a shell",
		"check_x -s \"`id`\"":                  "use single quotes",
		"check_x\n":                            "control character at byte 8",
		"check_x " + strings.Repeat("a ", 200): "more than 128 words",
		"check_x -s " + strings.Repeat("a", 5000): "4096 at most",
		`check_y -H HOST`:                         `"check_y" is not built in`,
		`/bin/check_x`:                            "programs are not run here",
	} {
		var got probe.Text
		_, err := one(healthy, &got).Parse(command)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.40s: %v, wanted %s", command, err, want)
		}
	}
}

func TestUnknownFlagsArePassedToThePlugin(t *testing.T) {
	var got probe.Text
	k := one(healthy, &got)
	var asked []string
	k.Program = func(name string, args []string) (probe.Probe, error) {
		asked = append([]string{name}, args...)
		if slices.Contains(args, "--none") {
			return nil, errors.New("there is no program check_x in /plugins")
		}
		return answers(healthy), nil
	}
	if _, err := k.Parse("check_x -H HOST -q 'a b'"); err != nil || !slices.Equal(asked, []string{"check_x", "-H", "HOST", "-q", "a b"}) {
		t.Errorf("%v, called with %q", err, asked)
	}
	asked = nil
	if _, err := k.Parse("check_x -H HOST"); err != nil || asked != nil {
		t.Errorf("known flags: %v, called with %q", err, asked)
	}
	if _, err := k.Parse("check_x -p 0"); err == nil || asked != nil {
		t.Errorf("a bad value: %v, called with %q", err, asked)
	}
	if _, err := k.Parse("check_x --none"); err == nil || err.Error() != "check_x has no flag --none here, and there is no plugin that could have it: there is no program check_x in /plugins" {
		t.Errorf("no plugin: %v", err)
	}
}

func TestTokensExpandToTheTarget(t *testing.T) {
	four := probe.Target{Addr: netip.MustParseAddr("10.0.0.1"), Port: 80, Name: "shop.example"}
	six := probe.Target{Addr: netip.MustParseAddr("2001:db8::1"), Port: 443}
	for _, c := range []struct {
		text probe.Text
		to   probe.Target
		want string
	}{
		{"HOST", four, "10.0.0.1"}, {"HOST:PORT", four, "10.0.0.1:80"}, {"HOST:PORT", six, "[2001:db8::1]:443"},
		{"/HOST?p=PORT", four, "/10.0.0.1?p=80"}, {"LOCALHOST MYPORT HOSTS PORT_", four, "LOCALHOST MYPORT HOSTS PORT_"}, {"HOST HOST", four, "10.0.0.1 10.0.0.1"}, {"", four, ""},
	} {
		if got := c.text.For(c.to); got != c.want {
			t.Errorf("%q for %v is %q, wanted %q", c.text, c.to, got, c.want)
		}
	}
	if got := probe.Address("HOST", 0, six); got != "[2001:db8::1]:443" {
		t.Errorf("address: got %s, want %s", got, "[2001:db8::1]:443")
	}
	if got := probe.Address("db.example", 5432, four); got != "db.example:5432" {
		t.Errorf("address: got %s, want %s", got, "db.example:5432")
	}
	for host, want := range map[probe.Host]string{"": "shop.example", "HOST": "shop.example", "other.example": "other.example"} {
		if got := probe.ServerName(host, four); got != want {
			t.Errorf("server name of %q: got %s, want %s", host, got, want)
		}
	}
	linked := probe.Target{Addr: netip.MustParseAddr("fe80::1%eth0"), Port: 80}
	if to, name := probe.Address("", 0, linked), probe.ServerName("", linked); to != "[fe80::1%eth0]:80" || name != "fe80::1" {
		t.Errorf("a link-local address is %s, called %s", to, name)
	}
}

func run(t *testing.T, command string, a answers) (said []string, err error) {
	t.Helper()
	var got probe.Text
	p, err := one(a, &got).Parse(command)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Run(t.Context(), &probe.Machine{}, probe.Target{}, func(format string, args ...any) {
		said = append(said, strings.TrimSpace(strings.ReplaceAll(format, "%s", args[0].(string))))
	})
	return said, err
}

func TestCheckIsKeptToItsPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := run(t, "check_x -t 2", func(ctx context.Context, _ probe.Say) error { <-ctx.Done(); return ctx.Err() }); err == nil || err.Error() != "no answer within 2s" {
			t.Errorf("a check that hangs: %v", err)
		}
		if _, err := run(t, "check_x", func(context.Context, probe.Say) error { panic("oh\nno") }); err == nil || err.Error() != "check_x failed by a fault of its own: oh no" {
			t.Errorf("a check that panics: %v", err)
		}
		slow := func(context.Context, probe.Say) error { time.Sleep(3 * time.Second); return nil }
		if _, err := run(t, "check_x -w 2 -c 5", slow); err == nil || err.Error() != "answered after 3s, wanted within 2s" {
			t.Errorf("a slow answer: %v", err)
		}
		if _, err := run(t, "check_x -w 4 -c 5", slow); err != nil {
			t.Errorf("an answer in time: %v", err)
		}
		said, err := run(t, "check_x", func(_ context.Context, say probe.Say) error {
			say("heard %q and %s", "\x1b[31m", "a\r\nb\x00")
			return errors.New("line 1\nline 2 \x1b[2J" + strings.Repeat("x", 1000))
		})
		if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 310 {
			t.Errorf("a reason of several lines: %q", err)
		}
		if len(said) != 1 || said[0] != `heard "\x1b[31m" and a b·` {
			t.Errorf("got: %q", said)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		var got probe.Text
		p, _ := one(func(context.Context, probe.Say) error { t.Error("asked without time"); return nil }, &got).Parse("check_x")
		if err := p.Run(gone, nil, probe.Target{}, func(string, ...any) {}); err == nil {
			t.Error("healthy without a check")
		}
	})
}

func TestSecretsAreHidden(t *testing.T) {
	var got probe.Text
	probe.Use(*one(healthy, &got))
	defer probe.Use(probe.Known{})
	for command, want := range map[string]string{
		`check_x -H HOST -P hunter2 -s text`:      `check_x -H HOST -P *** -s text`,
		`check_x -Phunter2`:                       `check_x -P***`,
		`check_x -dPhunter2`:                      `check_x -dP***`,
		`check_x --password=hunter2`:              `check_x --password=***`,
		`check_x --password 'hunter2'`:            `check_x --password ***`,
		`check_x -s hunter2`:                      `check_x -s hunter2`,
		`check_x --auth-token hunter2`:            `check_x --auth-token ***`,
		`mine --db-password hunter2 -a key -p 80`: `mine --db-password *** -a *** -p 80`,
		`mine -Phunter2 -P HOST`:                  `mine -P*** -P HOST`,
		`check_x -P "hun\"ter2" -s 'a  b'`:        `check_x -P *** -s 'a  b'`,
		`check_x  -P'hun'ter2`:                    `check_x  -P***`,
		`nc -vz -w 1 -u HOST PORT`:                `nc -vz -w 1 -u HOST PORT`,
		`mine 'hunter2`:                           `***`,
		``:                                        ``,
	} {
		if got := probe.Masked(command); got != want {
			t.Errorf("%s is shown as %s, want %s", command, got, want)
		}
	}
}

func TestTemplatesMatchTheFamily(t *testing.T) {
	seen := map[string]string{}
	for _, one := range probe.Templates() {
		if seen[one.Name] != "" || one.Description == "" || !strings.HasPrefix(one.Name, "check_") {
			t.Errorf("template %+v", one)
		}
		seen[one.Name] = "." + one.Command
	}
	for name, want := range map[string]string{
		"check_tcp": "check_tcp -p PORT -H HOST", "check_http": "check_http -I HOST -p PORT -e 200 -t 5",
		"check_ping": "check_ping -H HOST -w 2,100% -c 2,100% -p 2", "check_udp": "nmap -sU -p PORT HOST | grep open",
		"check_redis": "check_redis -h HOST -p PORT", "check_smtp": "check_smtp -H HOST -p PORT -C 'hello host' -t 5", "check_common": "",
	} {
		if seen[name] != "."+want {
			t.Errorf("%s is %s", name, seen[name])
		}
	}
}

func TestRangesUsePluginSyntax(t *testing.T) {
	for text, c := range map[string]struct{ in, out []float64 }{
		"10": {[]float64{0, 5, 10}, []float64{-1, 11}}, "10:": {[]float64{10, 1e9}, []float64{9}}, "~:10": {[]float64{-1e9, 10}, []float64{11}},
		"5:10": {[]float64{5, 10}, []float64{4, 11}}, "@5:10": {[]float64{4, 11}, []float64{5, 10}}, ":3": {[]float64{0, 3}, []float64{-1, 4}},
	} {
		r, err := probe.ReadRange(text)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, x := range c.in {
			if !r.Has(x) {
				t.Errorf("%s has not %g", text, x)
			}
		}
		for _, x := range c.out {
			if r.Has(x) {
				t.Errorf("%s has %g", text, x)
			}
		}
	}
	for _, text := range []string{"", "a", "10:5", "1:2:3", "NaN", "@", "~"} {
		if r, err := probe.ReadRange(text); err == nil {
			t.Errorf("%q is %v", text, r)
		}
	}
}

// Any command is refused or becomes a probe, and masking it never shows a password that
// would be used.
func FuzzParse(f *testing.F) {
	for _, t := range probe.Templates() {
		f.Add(t.Command)
	}
	for _, s := range []string{`check_x -H HOST -p PORT -s 'a b' -P "hunter2"`, `check_x -dS1.2 --password=x`, `check_x \`, `'`, `"$(`, "check_x\x00", `nc -vz -w 1 -u ' '`, `mine --token a -P=b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		var got probe.Text
		k := one(healthy, &got)
		words, err := probe.Words(command)
		if p, parsed := k.Parse(command); (p == nil) == (parsed == nil) {
			t.Errorf("%q: %v and %v", command, p, parsed)
		} else if parsed != nil && strings.ContainsAny(parsed.Error(), "\n\x00\x1b") {
			t.Errorf("%q: the reason is %q", command, parsed)
		}
		if err == nil && len(words) > 128 {
			t.Errorf("%d words", len(words))
		}
		masked := probe.Masked(command)
		if err != nil || len(words) < 2 || strings.Contains(command, "|") {
			return
		}
		if again, err := probe.Words(masked); err == nil && len(again) == len(words) {
			for i, s := range probe.SecretWords(again[0], again[1:]) {
				if s != "***" {
					t.Errorf("%q is shown as %q, with secret %d", command, masked, i)
				}
			}
		}
	})
}
