package validate_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/people"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

var update = flag.Bool("update", false, "write testdata/fields.txt again")

// fieldLines describes every field in help, responses and schemas, one per line, without
// its label and rule text.
func fieldLines(t *testing.T) (lines []string) {
	t.Helper()
	said := map[string]string{}
	for _, table := range append([]described{
		{"FarmCreate", httpfarm.Create.Params()}, {"FarmUpdate", httpfarm.Update.Params()}, {"FarmDocument", httpfarm.Document.Params()},
		{"L4FarmCreate", l4farm.Create.Params()}, {"L4FarmUpdate", l4farm.Update.Params()}, {"L4FarmDocument", l4farm.Document.Params()},
		{"ServiceCreate", httpfarm.ServiceCreate.Params()}, {"ServiceUpdate", httpfarm.ServiceUpdate.Params()}, {"ServiceDocument", httpfarm.ServiceDocument.Params()},
		{"BackendCreate", httpfarm.BackendCreate.Params()}, {"BackendUpdate", httpfarm.BackendUpdate.Params()}, {"BackendDocument", httpfarm.BackendDocument.Params()},
		{"L4BackendCreate", l4farm.BackendCreate.Params()}, {"L4BackendUpdate", l4farm.BackendUpdate.Params()}, {"L4BackendDocument", l4farm.BackendDocument.Params()},
		{"FarmAction", profile.FarmAction.Params()}, {"ServiceMove", httpfarm.ServiceMove.Params()}, {"RuleMove", httpfarm.RuleMove.Params()}, {"Maintenance", profile.Maintenance.Params()},
		{"AddRequest", httpfarm.AddRequest.Rule.Params()}, {"RemoveRequest", httpfarm.RemoveRequest.Rule.Params()}, {"ReplaceRequest", httpfarm.ReplaceRequest.Rule.Params()},
		{"Rewrites", httpfarm.Rewrites.Rule.Params()}, {"GlobalSettings", system.Settings.Params()},
	}, besideFarms()...) {
		for _, p := range table.params {
			text := fmt.Sprintf("%s|%s|%s|%s|%s", p.Format, p.Interval, strings.Join(p.PossibleValues, ","), strings.Join(p.Options, " "), behindText(p.Description))
			if most := p.Plain.MaxLength; most > 0 {
				text += fmt.Sprintf("|%d bytes", most)
			}
			if text == said[p.Name] {
				text = "is as above" // in another table
			} else {
				said[p.Name] = text
			}
			lines = append(lines, fmt.Sprintf("%s %s: %s", table.name, p.Name, text))
		}
	}
	for _, table := range []struct {
		name    string
		answers []field.Answered
	}{
		{"FarmAnswer", httpfarm.Answer.Answers()}, {"L4FarmAnswer", l4farm.Answer.Answers()}, {"ServiceAnswer", httpfarm.ServiceAnswer.Answers()},
		{"BackendAnswer", httpfarm.BackendAnswer.Answers()}, {"L4BackendAnswer", l4farm.BackendAnswer.Answers()}, {"RewriteAnswer", httpfarm.Rewrites.Rule.Answers()},
	} {
		for _, a := range table.answers {
			null, maybe := map[bool]string{true: " or null"}[a.Null], map[bool]string{true: ", if it is there"}[a.Maybe]
			lines = append(lines, fmt.Sprintf("%s %s: %s%s%s %s", table.name, a.Name, a.Type, null, maybe, strings.Join(a.PossibleValues, ",")))
		}
	}
	return append(lines, schemaLines(t)...)
}

// described is a body with its fields.
type described struct {
	name   string
	params []field.Param
}

// besideFarms returns the bodies about checks, users, logins and the machine.
func besideFarms() []described {
	out := []described{
		{"CheckCreate", check.Create.Params()}, {"CheckUpdate", check.Update.Params()}, {"CheckLink", check.Link.Params()}, {"CheckTry", check.Try.Params()},
		{"UserCreate", people.UserCreate.Params()}, {"UserUpdate", people.UserUpdate.Params()}, {"OwnUserUpdate", people.OwnUserUpdate.Params()},
		{"RBACName", people.Name.Params()}, {"GroupUpdate", people.GroupUpdate.Params()}, {"RoleCreate", people.RoleCreate.Params()},
		{"ServicesUpdate", people.ServicesUpdate.Params()}, {"LDAPUpdate", people.LDAPUpdate.Params()}, {"LDAPAction", people.LDAPAction.Params()},
		{"OIDCUpdate", people.OIDCUpdate.Params()}, {"SecondEnrol", people.SecondEnrol.Params()}, {"SecondAction", people.SecondAction.Params()},
		{"ListenerChange", system.ListenerChange.Params()}, {"APICertificate", system.APICertificate.Params()}, {"RemoteSyslog", system.RemoteSyslog.Params()},
	}
	for i := range system.Sections {
		out = append(out, described{"system/" + system.Sections[i].Name, system.Sections[i].Table.Params()})
	}
	return out
}

// A form has room for a short label and a sentence of help.
func TestFieldsHaveALabelOfFewWordsAndASentence(t *testing.T) {
	for _, table := range besideFarms() {
		for _, p := range table.params {
			if label := p.Plain.Label; label == "" || len(label) > 32 || strings.HasSuffix(label, ".") {
				t.Errorf("%s: %s has the label %q", table.name, p.Name, label)
			}
			if !strings.HasSuffix(p.Description, ".") && !strings.HasSuffix(p.Description, "…") {
				t.Errorf("%s: %s is described as %q", table.name, p.Name, p.Description)
			}
		}
	}
}

// schemaLines describes the schemas of objects and their fields.
func schemaLines(t *testing.T) (lines []string) {
	t.Helper()
	objects := validate.Schema()["$defs"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		object := objects[name].(map[string]any)
		fields := object["properties"].(map[string]any)
		delete(object, "properties")
		delete(object, "required")
		lines = append(lines, fmt.Sprintf("schema of %s: %s", name, compact(t, object)))
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			f := fields[field].(map[string]any)
			delete(f, "title")
			delete(f, "description")
			lines = append(lines, fmt.Sprintf("schema of %s %s: %s", name, field, compact(t, f)))
		}
	}
	return lines
}

func compact(t *testing.T, v any) string {
	t.Helper()
	var out strings.Builder
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`"`, "", "\n", "").Replace(out.String())
}

// behindText returns the part of a description after the rule text.
func behindText(description string) string {
	for _, begin := range []string{" Default: ", " Only "} {
		if _, behind, found := strings.Cut(description, begin); found {
			return begin[1:] + behind
		}
	}
	return ""
}

// Clients, forms and documents depend on the values, defaults, conditions and costs of
// fields. The file lists them; a missing field is new.
func TestFieldsTakeWhatTheyAlwaysTook(t *testing.T) {
	const file = "testdata/fields.txt"
	lines := fieldLines(t)
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	nameOf := func(line string) string { name, _, _ := strings.Cut(line, ": "); return name }
	known := map[string]bool{}
	for _, line := range want {
		known[nameOf(line)] = true
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return !known[nameOf(line)] })
	for i := range want {
		if i >= len(lines) || lines[i] != want[i] {
			t.Fatalf("got  %s\nwant %s\n(-update, if it is meant)", slices.Concat(lines, []string{"nothing"})[min(i, len(lines))], want[i])
		}
	}
}
