package document_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

const (
	shopFarm = "farms:\n  - name: shop\n    profile: http\n    vip: 192.0.2.10\n    vport: 80\n"
	mailFarm = "farms:\n  - name: mail\n    profile: l4xnat\n    vip: 192.0.2.10\n    vport: \"25\"\n"
)

func namesIn(cfg *farm.Config) string {
	var out []string
	for _, f := range cfg.Farms {
		out = append(out, f.Name)
	}
	for _, c := range cfg.Checks {
		out = append(out, "check "+c.Name)
	}
	return strings.Join(out, " ")
}

func TestTheDocumentsOfAStreamAreJoined(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"two", shopFarm + "---\n" + mailFarm, "shop mail"},
		{"a line before the first", "---\n" + shopFarm + "--- # and mail\n" + mailFarm, "shop mail"},
		{"JSON among YAML", `{"farms": []}` + "\n---\n" + mailFarm + "---\r\n", "mail"},
		{"a document without farms", "checks:\n  - name: alive\n    command: check_tcp -H HOST -p PORT\n---\n" + mailFarm, "mail check alive"},
		{"lists of checks", "checks:\n  - name: a\n    command: check_tcp -H HOST -p PORT\n---\nfarms: []\nchecks:\n  - name: b\n    command: check_tcp -H HOST -p PORT\n", "check a check b"},
		{"dashes within a text", "farms:\n  - name: shop\n    profile: http\n    vip: 192.0.2.10\n    vport: 80\n    comment: |\n      a\n      ---\n      b\n", "shop"},
	} {
		cfg, err := document.Load([]byte(c.text), validate.Rules{})
		if err != nil || namesIn(cfg) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestErrorsInAStreamHaveTheirLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{shopFarm + "---\n" + strings.Replace(mailFarm, "vport", "vportt", 1), "line 11, column 5: "},
		{shopFarm + "---\nfarms: [\n", "line 7, "},
		{"checks: []\n---\nchecks: []\n", "farms is required"},
		{"system: {}\nfarms: []\n---\nsystem:\n  dns: {}\n", "system is in two documents"},
		{shopFarm + "---\n" + shopFarm, `farm "shop"`},
		{"---\n---\n", "the document is empty"},
	} {
		if _, err := document.Load([]byte(c.text), validate.Rules{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v, want %q", c.text, err, c.want)
		}
	}
}

func TestAPartIsCheckedTogetherWithTheRest(t *testing.T) {
	whole, err := document.Load([]byte(shopFarm+"---\n"+mailFarm+"checks:\n  - name: alive\n    command: check_tcp -H HOST -p PORT\n"), validate.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	part := func(text string) (string, error) {
		cfg, err := document.LoadPart([]byte(text), validate.Rules{}, whole)
		if err != nil {
			return "", err
		}
		return namesIn(document.Merge(whole, cfg)), nil
	}
	for _, c := range []struct{ name, text, want string }{
		{"another farm", strings.Replace(mailFarm, "mail\n", "news\n", 1) + "    farmguardian: alive\n", `line 5, column 5`}, // mail's port
		{"a farm that is there", strings.Replace(mailFarm, "25", "26", 1), "shop mail check alive"},
		{"a new one", strings.NewReplacer("mail\n", "news\n", "25", "119").Replace(mailFarm), "shop mail news check alive"},
		{"a check alone", "checks:\n  - name: ping\n    command: check_icmp -H HOST\n", "shop mail check alive check ping"},
		{"the same name twice", mailFarm + "---\n" + mailFarm, "mail"},
		{"no farms at all", "farms: []\n", "shop mail check alive"},
		{"nothing", "# nothing\n", "the document is empty"},
	} {
		got, err := part(c.text)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && !(err != nil && strings.Contains(got, c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if namesIn(whole) != "shop mail check alive" {
		t.Errorf("the whole became %s", namesIn(whole))
	}
}
