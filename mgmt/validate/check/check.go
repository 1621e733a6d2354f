package check

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Bodies about a health check.
var (
	// Create is the body of POST /monitoring/fg: the name, the check to copy, and all
	// changeable fields.
	Create = field.Table[farm.Check]{Fields: slices.Concat([]field.Field[farm.Check]{field.Require(checkName),
		copyFrom}, fields)}
	// Update is the body of PUT /monitoring/fg/CHECK.
	Update = field.Table[farm.Check]{Fields: slices.Concat(fields, []field.Field[farm.Check]{force})}
	// Document is a check in a document.
	Document = field.Table[farm.Check]{Fields: slices.Concat([]field.Field[farm.Check]{field.Require(checkName)},
		fields)}
	// Answer holds the fields of a check in responses, except its name.
	Answer = field.Table[farm.Check]{Fields: fields}
	// Link is the body that links a check to a farm or service.
	Link = field.Table[farm.Check]{Fields: []field.Field[farm.Check]{linkedCheck}}
	// Try is the body of a trial run: the target, and an optional other command.
	Try = field.Table[Target]{Fields: targetFields}
)

// Target is the target of a trial run.
type Target struct {
	Host    string
	Port    uint16
	Timeout farm.Seconds
}

// MaxCommand is the maximum length of a command in bytes, with sealed passwords.
const MaxCommand = 4096

const (
	// maxProbes is the maximum of rise and fall.
	maxProbes = 100
	// maxTry is the maximum duration of a trial run in seconds, as a client waits for it.
	maxTry = 60
)

var checkWord = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_-]*$`)

var checkName = field.Field[farm.Check]{
	Rule: field.Rule{Name: "name", Hints: field.Basic(field.AtChecks, "Name"), Kind: field.Text, Format: "[a-zA-Z0-9_][a-zA-Z0-9_-]*", MaxLen: format.MaxName, Reserved: []string{"0"}, Pattern: checkWord, Must: mustCheckName,
		Sample: "shop-alive", About: "Name of the check."},
	Get: func(c *farm.Check) field.Value { return field.TextValue(c.Name) },
	Set: func(c *farm.Check, v field.Value) { c.Name = v.Text() },
}

// linkedCheck is the name of an existing check.
var linkedCheck = func() field.Field[farm.Check] {
	f := field.Require(checkName)
	f.Sample, f.About = "check_tcp", "Name of the check, or of a template."
	return f
}()

const mustCheckName = "a name of letters, digits, underscores and hyphens (not the first), at most 64"

var copyFrom = field.Field[farm.Check]{Rule: field.Rule{Name: "copy_from", Hints: field.Advanced(field.AtChecks, "Copy from"), Kind: field.Text, Format: "[a-zA-Z0-9_][a-zA-Z0-9_-]*", MaxLen: format.MaxName, Pattern: checkWord, Must: "the name of a check",
	Sample: "check_http", About: "Check or template to copy all other settings from."}}

var force = field.Field[farm.Check]{Rule: field.Rule{Name: "force", Hints: field.Advanced(field.AtChecks, "Force"), Kind: field.Bool,
	About: "Allow changes of command and backend_alias while the check is in use; its backends are then checked again."}}

var fields = []field.Field[farm.Check]{
	{
		Rule: field.Rule{Name: "description", Hints: field.Basic(field.AtChecks, "Description"), Kind: field.Text, Blank: true, Null: true, MaxLen: field.MaxText, Check: format.Printable, Must: "a text without control characters",
			Sample: "Is the shop alive?", About: "Purpose of the check."},
		Get: func(c *farm.Check) field.Value { return field.TextValue(c.Description) },
		Set: func(c *farm.Check, v field.Value) { c.Description = v.Text() },
	},
	{
		Rule: field.Rule{Name: "command", Hints: field.Basic(field.AtChecks, "Command"), Kind: field.Text, Blank: true, Null: true, MaxLen: MaxCommand, Check: checkCommand, Must: "a probe Sluice knows, in the words of its plugin",
			Format: "probe and options", Sample: "check_http -I HOST -p PORT -e 200",
			About: "Probe and its options, in the syntax of the standard Nagios plugins; no shell is involved. HOST and PORT stand for those of the backend; empty runs no probe. Passwords are stored encrypted and shown as sealed-…; sending that back keeps them."},
		Get: func(c *farm.Check) field.Value { return field.TextValue(c.Command) },
		Set: func(c *farm.Check, v field.Value) { c.Command = v.Text() }, Needs: needsProbe,
	},
	{
		Rule: field.Rule{Name: "interval", Hints: field.Basic(field.AtChecks, "Interval").In(field.Seconds), Kind: field.Number, Min: 1, Max: format.MaxTimeout, Null: true, Default: field.NumberValue(int64(farm.DefaultCheckInterval)),
			About: "Interval between the starts of two probes of a backend, in seconds."},
		Get: func(c *farm.Check) field.Value { return field.NumberValue(int64(c.Interval)) },
		Set: func(c *farm.Check, v field.Value) { c.Interval = farm.Seconds(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "timeout", Hints: field.Basic(field.AtChecks, "Timeout").In(field.Seconds), Kind: field.Number, Min: 1, Max: format.MaxTimeout, Null: true, Sample: 5,
			About: "Timeout of a probe, in seconds; defaults to the interval."},
		Get:       func(c *farm.Check) field.Value { return field.NumberValue(int64(c.Timeout)) },
		Effective: func(c *farm.Check) field.Value { return field.NumberValue(int64(c.EffectiveTimeout())) },
		Set:       func(c *farm.Check, v field.Value) { c.Timeout = farm.Seconds(v.Number()) },
	},
	probesInARow("rise", "Rise threshold", farm.DefaultRise, "Number of consecutive successful probes before a down backend is used again; increased for backends that flap.", func(c *farm.Check) *uint8 { return &c.Rise }),
	probesInARow("fall", "Fall threshold", farm.DefaultFall, "Number of consecutive failed probes after which a backend is down.", func(c *farm.Check) *uint8 { return &c.Fall }),
	{
		Rule: field.Rule{Name: "priority", Hints: field.Advanced(field.AtChecks, "Priority"), Kind: field.Number, Min: 1, Max: 9, Null: true, Default: field.NumberValue(int64(farm.DefaultCheckPriority)),
			About: "Priority among waiting probes; lower values run first."},
		Get: func(c *farm.Check) field.Value { return field.NumberValue(int64(c.Priority)) },
		Set: func(c *farm.Check, v field.Value) { c.Priority = uint8(v.Number()) },
	},
	truth("log", field.Basic(field.AtChecks, "Logging"), "Log every probe, not only those that change the state of a backend.", func(c *farm.Check) *bool { return &c.Logs }),
	truth("cut_conns", field.Basic(field.AtChecks, "Cut connections"), "Close the connections of a backend when it goes down.", func(c *farm.Check) *bool { return &c.CutConns }),
	truth("backend_alias", field.Advanced(field.AtChecks, "Alias as host"), "Use the backend's alias, if it has one, as HOST; the probe still connects to its address.", func(c *farm.Check) *bool { return &c.BackendAlias }),
}

func probesInARow(name, label string, acts uint8, about string, at func(*farm.Check) *uint8) field.Field[farm.Check] {
	return field.Field[farm.Check]{
		Rule: field.Rule{Name: name, Hints: field.Advanced(field.AtChecks, label), Kind: field.Number, Min: 1,
			Max: maxProbes, Null: true, Default: field.NumberValue(int64(acts)), About: about},
		Get: func(c *farm.Check) field.Value { return field.NumberValue(int64(*at(c))) },
		Set: func(c *farm.Check, v field.Value) { *at(c) = uint8(v.Number()) },
	}
}

func truth(name string, h field.Hints, about string, at func(*farm.Check) *bool) field.Field[farm.Check] {
	return field.Field[farm.Check]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Bool, About: about},
		Get:  func(c *farm.Check) field.Value { return field.BoolValue(*at(c)) },
		Set:  func(c *farm.Check, v field.Value) { *at(c) = v.Bool() },
	}
}

var targetFields = []field.Field[Target]{
	{
		Rule: field.Rule{Name: "host", Hints: field.Basic(field.AtChecks, "Host"), Kind: field.Text, Required: true, MaxLen: 253, Check: format.Host, Format: "ip or host name", Must: "an address or a host name",
			Sample: "10.0.0.11", About: "Address or host name to check."},
		Get: func(t *Target) field.Value { return field.TextValue(t.Host) },
		Set: func(t *Target, v field.Value) { t.Host = v.Text() },
	},
	{
		Rule: field.Rule{Name: "port", Hints: field.Basic(field.AtChecks, "Port"), Kind: field.Number, Min: 1, Max: 65535, Null: true, About: "Port to check; not needed by checks that use no port."},
		Get:  func(t *Target) field.Value { return field.NumberValue(int64(t.Port)) },
		Set:  func(t *Target, v field.Value) { t.Port = uint16(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "timeout", Hints: field.Basic(field.AtChecks, "Timeout").In(field.Seconds), Kind: field.Number, Min: 1, Max: maxTry, Null: true, Sample: 5, About: "Timeout in seconds, at most 60; defaults to the timeout of the check."},
		Get:  func(t *Target) field.Value { return field.NumberValue(int64(t.Timeout)) },
		Set:  func(t *Target, v field.Value) { t.Timeout = farm.Seconds(v.Number()) },
	},
}

// TryTime returns the time limit of a trial run.
func TryTime(c *farm.Check, t Target) farm.Seconds {
	if t.Timeout != 0 {
		return t.Timeout
	}
	return min(c.EffectiveTimeout(), maxTry)
}

// checkCommand explains an invalid command. The existence of the probe is checked only when
// a command is set, so that a removed program does not block other changes.
func checkCommand(s string) string {
	if problem := format.Printable(s); problem != "" {
		return problem
	}
	words, err := probe.CommandWords(s)
	switch {
	case err != nil:
		return err.Error()
	case len(words) > 0 && slices.Contains(probe.SecretWords(words[0], words[1:]), probe.Hidden):
		return "it has " + probe.Hidden + " where a password was hidden from who read it: write the password"
	}
	return ""
}

func needsProbe(sent field.Values[farm.Check], _ *farm.Check) string {
	if err := probe.Check(sent.Get("command").Text()); err != nil {
		return "cannot be run: " + err.Error()
	}
	return ""
}

// LinkRule is the field of the checked object that names the check.
var LinkRule = field.Rule{Name: "farmguardian", Hints: field.Basic(field.AtBackends, "Health check"), Kind: field.Text, Blank: true, Null: true, MaxLen: format.MaxName, Format: "name of a check", Pattern: checkWord, Must: mustCheckName,
	Sample: "check_tcp", About: "Health check for the backends; empty disables health checking."}

// Path returns the Path of errors about a check.
func Path(name string) string { return "check " + field.Show(name) }

// Verify checks the rules of health checks.
func Verify(cfg *farm.Config, yield func(field.Error) bool) bool {
	if len(cfg.Checks) > farm.MaxChecks && !yield(field.Error{Field: "checks", Message: fmt.Sprintf("checks: at most %d are possible, got %d", farm.MaxChecks, len(cfg.Checks))}) {
		return false
	}
	known := map[string]bool{}
	for i := range cfg.Checks {
		c := &cfg.Checks[i]
		path := Path(c.Name)
		if known[c.Name] && !yield(field.Error{Path: path, Field: "name", Message: fmt.Sprintf("name must be unique, %s exists already", field.Show(c.Name))}) {
			return false
		}
		known[c.Name] = true
		if !Document.Verify(path, c, nil, yield) || !verifyTemplate(path, c, yield) {
			return false
		}
	}
	return true
}

// verifyTemplate checks that a check with the name of a template matches it.
func verifyTemplate(path string, c *farm.Check, yield func(field.Error) bool) bool {
	t, is := Template(c.Name)
	if !is {
		return true
	}
	for _, f := range []struct{ name, set, fixed string }{{"command", c.Command, t.Command}, {"description", c.Description, t.Description}} {
		if f.set != "" && f.set != f.fixed &&
			!yield(field.Error{Path: path, Field: f.name, Message: fmt.Sprintf("%s of a template cannot be changed: make a copy of %s, and change that", f.name, c.Name)}) {
			return false
		}
	}
	return true
}
