package document_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

// texts draws error texts of all kinds.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "~", "yes", "null", "1", "0x1f", "1e3", "1_000", ".inf", "2024-01-01", "a: b", "a #b", "- x", "# x", "&a", "*a", "!x", "%x", "@x", "`x",
			"a\nb", "a\nb\n", "a\n\nb", " a\nb", "a \nb", "\ta\nb", "a\r\nb", "a\n b", "\n", "\n\n", "a\n", "<html>\n<body>x: y</body>\n</html>\n", "|", ">", "'", `"`, `\`, "\x00", "\u0085", "\u2028", "\ufeff", "😀", "a:", ":a", "---", "...", "- a\n- b", "{}", "[]", "a: b\nc: d", "#\n#"}),
		rapid.StringMatching(`[a-z :#'"\\|>&*!%@{}\[\],\n-]{0,40}`),
	)
}

func configs() *rapid.Generator[*farm.Config] {
	return rapid.Custom(func(t *rapid.T) *farm.Config {
		c := &farm.Config{}
		for i := range rapid.IntRange(0, 3).Draw(t, "farms") {
			h := farm.DefaultHTTP()
			h.ConnectTimeout = farm.Seconds(rapid.IntRange(1, 21).Draw(t, "contimeout"))
			h.Verbs = rapid.SampledFrom(farm.VerbSets()).Draw(t, "verbs")
			h.Error503 = rapid.Custom(func(t *rapid.T) string { return texts().Draw(t, "x") }).Filter(func(s string) bool {
				return len(s) <= format.MaxErrorText && !strings.HasPrefix(strings.TrimSpace(s), "@")
			}).Draw(t, "error503")
			for i := range rapid.IntRange(0, 3).Draw(t, "trusted") {
				h.Trusted = append(h.Trusted, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i)}), rapid.SampledFrom([]int{16, 32}).Draw(t, "bits")))
			}
			h.Continue = rapid.SampledFrom([]farm.ContinueMode{"", farm.ContinueIgnore, farm.ContinueNever}).Draw(t, "continue")
			h.MaxBody, h.RewriteHost = rapid.Uint64Range(0, httpfarm.MaxBody).Draw(t, "maxbody"), rapid.Bool().Draw(t, "rewritehost")
			f := farm.Farm{Name: fmt.Sprintf("farm%d", i), Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr(rapid.SampledFrom([]string{"127.0.0.1", "10.1.2.3", "0.0.0.0"}).Draw(t, "vip")),
				VPort: uint16(1000 + i), Stopped: rapid.Bool().Draw(t, "stopped"), HTTP: h}
			for j := range rapid.IntRange(0, 3).Draw(t, "services") {
				s := farm.Service{Name: fmt.Sprintf("s_%d", j), URL: rapid.SampledFrom([]string{"", "^/a", "/x$", `\.png\?`, "a: b", "yes"}).Draw(t, "urlp"),
					VHost: rapid.SampledFrom([]string{"", "shop", `shop\.example`, "null"}).Draw(t, "vhost"), Policy: rapid.SampledFrom(farm.RoutingPolicies()).Draw(t, "policy")}
				for k := range rapid.IntRange(0, 3).Draw(t, "backends") {
					s.Backends = append(s.Backends, farm.Backend{Host: fmt.Sprintf("10.9.%d.%d", j, k+1), Addr: netip.AddrFrom4([4]byte{10, 9, byte(j), byte(k + 1)}), Port: 80,
						Weight: uint8(rapid.IntRange(0, 9).Draw(t, "weight")), Alias: rapid.StringMatching(`([a-z][a-z :#]{0,8})?`).Draw(t, "alias"),
						Maintenance: rapid.SampledFrom([]farm.Maintenance{"", "drain", "cut"}).Draw(t, "maintenance")})
				}
				h.Services = append(h.Services, s)
			}
			c.Farms = append(c.Farms, f)
		}
		return c
	})
}

func TestDocumentsRoundTrip(t *testing.T) {
	for name, encode := range map[string]func(*farm.Config) ([]byte, error){"yaml": document.Encode, "json": document.EncodeJSON} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := configs().Draw(t, "config")
				text, err := encode(c)
				if err != nil {
					t.Fatal(err)
				}
				back, err := document.Decode(text)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if fmt.Sprintf("%#v", deref(back)) != fmt.Sprintf("%#v", deref(c)) {
					t.Fatalf("got %+v\nwant %+v\n%s", deref(back), deref(c), text)
				}
			})
		})
	}
}

// deref makes configurations comparable as text.
func deref(c *farm.Config) []any {
	var out []any
	for _, f := range c.Farms {
		h := *f.HTTP
		f.HTTP = nil
		out = append(out, f, h)
	}
	return out
}

// large returns a configuration of 1000 farms with 10 backends each.
func large() *farm.Config {
	c := &farm.Config{}
	for i := range 1000 {
		h := farm.DefaultHTTP()
		s := farm.Service{Name: "web", VHost: fmt.Sprintf(`shop%d\.example`, i)}
		for k := range 10 {
			addr := netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), byte(k + 1)})
			s.Backends = append(s.Backends, farm.Backend{Host: addr.String(), Addr: addr, Port: 8080, Weight: uint8(k%9 + 1)})
		}
		h.Services = []farm.Service{s}
		c.Farms = append(c.Farms, farm.Farm{Name: fmt.Sprintf("shop-%d", i), Profile: farm.ProfileHTTP,
			VIP: netip.AddrFrom4([4]byte{192, 168, byte(i >> 8), byte(i)}), VPort: 80, HTTP: h})
	}
	return c
}

func TestLargeDocumentsAreRead(t *testing.T) {
	c := large()
	start := time.Now()
	text, err := document.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	encoded := time.Since(start)
	start = time.Now()
	back, err := document.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	decoded := time.Since(start)
	start = time.Now()
	back.Farms[500].HTTP.Services[0].Backends[3].Weight = 9
	diff := document.Diff(c, back)
	t.Logf("%d bytes: encoded in %v, decoded in %v, difference in %v", len(text), encoded, decoded, time.Since(start))
	if n := strings.Count(diff, "\n"); n != 9 {
		t.Errorf("difference has %d lines:\n%s", n, diff)
	}
}
