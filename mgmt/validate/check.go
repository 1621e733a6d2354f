package validate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// Bodies about a health check.
var (
	// CheckCreate is the body of POST /monitoring/fg: the name, the check to copy, and all
	// changeable fields.
	CheckCreate = Table[farm.Check]{fields: slices.Concat([]field[farm.Check]{require(checkName), checkCopy}, checkFields)}
	// CheckUpdate is the body of PUT /monitoring/fg/CHECK.
	CheckUpdate = Table[farm.Check]{fields: slices.Concat(checkFields, []field[farm.Check]{checkForce})}
	// CheckDocument is a check in a document.
	CheckDocument = Table[farm.Check]{fields: slices.Concat([]field[farm.Check]{require(checkName)}, checkFields)}
	// CheckAnswer holds the fields of a check in responses, except its name.
	CheckAnswer = Table[farm.Check]{fields: checkFields}
	// CheckLink is the body that links a check to a farm or service.
	CheckLink = Table[farm.Check]{fields: []field[farm.Check]{linkedCheck}}
	// CheckTry is the body of a trial run: the target, and an optional other command.
	CheckTry = Table[CheckTarget]{fields: checkTargetFields}
)

// CheckTarget is the target of a trial run.
type CheckTarget struct {
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

var checkName = field[farm.Check]{
	rule: rule{name: "name", hints: basic(atChecks, "Name"), kind: kindText, format: "[a-zA-Z0-9_][a-zA-Z0-9_-]*", maxLen: MaxName, reserved: []string{"0"}, pattern: checkWord, must: mustCheckName,
		sample: "shop-alive", about: "Name of the check."},
	get: func(c *farm.Check) Value { return textValue(c.Name) },
	set: func(c *farm.Check, v Value) { c.Name = v.text },
}

// linkedCheck is the name of an existing check.
var linkedCheck = func() field[farm.Check] {
	f := require(checkName)
	f.sample, f.about = "check_tcp", "Name of the check, or of a template."
	return f
}()

const mustCheckName = "a name of letters, digits, underscores and hyphens (not the first), at most 64"

var checkCopy = field[farm.Check]{rule: rule{name: "copy_from", hints: advanced(atChecks, "Copy from"), kind: kindText, format: "[a-zA-Z0-9_][a-zA-Z0-9_-]*", maxLen: MaxName, pattern: checkWord, must: "the name of a check",
	sample: "check_http", about: "Check or template to copy all other settings from."}}

var checkForce = field[farm.Check]{rule: rule{name: "force", hints: advanced(atChecks, "Force"), kind: kindBool,
	about: "Allow changes of command and backend_alias while the check is in use; its backends are then checked again."}}

var checkFields = []field[farm.Check]{
	{
		rule: rule{name: "description", hints: basic(atChecks, "Description"), kind: kindText, blank: true, null: true, maxLen: maxText, check: checkPrintable, must: "a text without control characters",
			sample: "Is the shop alive?", about: "Purpose of the check."},
		get: func(c *farm.Check) Value { return textValue(c.Description) },
		set: func(c *farm.Check, v Value) { c.Description = v.text },
	},
	{
		rule: rule{name: "command", hints: basic(atChecks, "Command"), kind: kindText, blank: true, null: true, maxLen: MaxCommand, check: checkCommand, must: "a probe Sluice knows, in the words of its plugin",
			format: "probe and options", sample: "check_http -I HOST -p PORT -e 200",
			about: "Probe and its options, in the syntax of the standard Nagios plugins; no shell is involved. HOST and PORT stand for those of the backend; empty runs no probe. Passwords are stored encrypted and shown as sealed-…; sending that back keeps them."},
		get: func(c *farm.Check) Value { return textValue(c.Command) },
		set: func(c *farm.Check, v Value) { c.Command = v.text }, needs: needsProbe,
	},
	{
		rule: rule{name: "interval", hints: basic(atChecks, "Interval").in(inSeconds), kind: kindNumber, min: 1, max: MaxTimeout, null: true, acts: numberValue(int64(farm.DefaultCheckInterval)),
			about: "Interval between the starts of two probes of a backend, in seconds."},
		get: func(c *farm.Check) Value { return numberValue(int64(c.Interval)) },
		set: func(c *farm.Check, v Value) { c.Interval = farm.Seconds(v.number) },
	},
	{
		rule: rule{name: "timeout", hints: basic(atChecks, "Timeout").in(inSeconds), kind: kindNumber, min: 1, max: MaxTimeout, null: true, sample: 5,
			about: "Timeout of a probe, in seconds; defaults to the interval."},
		get:   func(c *farm.Check) Value { return numberValue(int64(c.Timeout)) },
		force: func(c *farm.Check) Value { return numberValue(int64(c.EffectiveTimeout())) },
		set:   func(c *farm.Check, v Value) { c.Timeout = farm.Seconds(v.number) },
	},
	probesInARow("rise", "Rise threshold", farm.DefaultRise, "Number of consecutive successful probes before a down backend is used again; increased for backends that flap.", func(c *farm.Check) *uint8 { return &c.Rise }),
	probesInARow("fall", "Fall threshold", farm.DefaultFall, "Number of consecutive failed probes after which a backend is down.", func(c *farm.Check) *uint8 { return &c.Fall }),
	{
		rule: rule{name: "priority", hints: advanced(atChecks, "Priority"), kind: kindNumber, min: 1, max: 9, null: true, acts: numberValue(int64(farm.DefaultCheckPriority)),
			about: "Priority among waiting probes; lower values run first."},
		get: func(c *farm.Check) Value { return numberValue(int64(c.Priority)) },
		set: func(c *farm.Check, v Value) { c.Priority = uint8(v.number) },
	},
	checkTruth("log", basic(atChecks, "Logging"), "Log every probe, not only those that change the state of a backend.", func(c *farm.Check) *bool { return &c.Logs }),
	checkTruth("cut_conns", basic(atChecks, "Cut connections"), "Close the connections of a backend when it goes down.", func(c *farm.Check) *bool { return &c.CutConns }),
	checkTruth("backend_alias", advanced(atChecks, "Alias as host"), "Use the backend's alias, if it has one, as HOST; the probe still connects to its address.", func(c *farm.Check) *bool { return &c.BackendAlias }),
}

func probesInARow(name, label string, acts uint8, about string, at func(*farm.Check) *uint8) field[farm.Check] {
	return field[farm.Check]{
		rule: rule{name: name, hints: advanced(atChecks, label), kind: kindNumber, min: 1, max: maxProbes, null: true, acts: numberValue(int64(acts)), about: about},
		get:  func(c *farm.Check) Value { return numberValue(int64(*at(c))) },
		set:  func(c *farm.Check, v Value) { *at(c) = uint8(v.number) },
	}
}

func checkTruth(name string, h hints, about string, at func(*farm.Check) *bool) field[farm.Check] {
	return field[farm.Check]{
		rule: rule{name: name, hints: h, kind: kindBool, about: about},
		get:  func(c *farm.Check) Value { return boolValue(*at(c)) },
		set:  func(c *farm.Check, v Value) { *at(c) = v.truth },
	}
}

var checkTargetFields = []field[CheckTarget]{
	{
		rule: rule{name: "host", hints: basic(atChecks, "Host"), kind: kindText, required: true, maxLen: 253, check: checkHost, format: "ip or host name", must: "an address or a host name",
			sample: "10.0.0.11", about: "Address or host name to check."},
		get: func(t *CheckTarget) Value { return textValue(t.Host) },
		set: func(t *CheckTarget, v Value) { t.Host = v.text },
	},
	{
		rule: rule{name: "port", hints: basic(atChecks, "Port"), kind: kindNumber, min: 1, max: 65535, null: true, about: "Port to check; not needed by checks that use no port."},
		get:  func(t *CheckTarget) Value { return numberValue(int64(t.Port)) },
		set:  func(t *CheckTarget, v Value) { t.Port = uint16(v.number) },
	},
	{
		rule: rule{name: "timeout", hints: basic(atChecks, "Timeout").in(inSeconds), kind: kindNumber, min: 1, max: maxTry, null: true, sample: 5, about: "Timeout in seconds, at most 60; defaults to the timeout of the check."},
		get:  func(t *CheckTarget) Value { return numberValue(int64(t.Timeout)) },
		set:  func(t *CheckTarget, v Value) { t.Timeout = farm.Seconds(v.number) },
	},
}

// TryTime returns the time limit of a trial run.
func TryTime(c *farm.Check, t CheckTarget) farm.Seconds {
	if t.Timeout != 0 {
		return t.Timeout
	}
	return min(c.EffectiveTimeout(), maxTry)
}

// checkCommand explains an invalid command. The existence of the probe is checked only when
// a command is set, so that a removed program does not block other changes.
func checkCommand(s string) string {
	if problem := checkPrintable(s); problem != "" {
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

func needsProbe(sent Values[farm.Check], _ *farm.Check) string {
	if err := probe.Check(sent.Get("command").Text()); err != nil {
		return "cannot be run: " + err.Error()
	}
	return ""
}

// linkRule is the field of the checked object that names the check.
var linkRule = rule{name: "farmguardian", hints: basic(atBackends, "Health check"), kind: kindText, blank: true, null: true, maxLen: MaxName, format: "name of a check", pattern: checkWord, must: mustCheckName,
	sample: "check_tcp", about: "Health check for the backends; empty disables health checking."}

var serviceCheck = field[farm.Service]{rule: linkRule,
	get: func(s *farm.Service) Value { return textValue(s.Check) },
	set: func(s *farm.Service, v Value) { s.Check = v.text },
}

var l4Check = field[farm.Farm]{rule: linkRule,
	get: func(f *farm.Farm) Value { return textValue(l4Seen(f).Check) },
	set: func(f *farm.Farm, v Value) { l4Of(f).Check = v.text },
}

// CheckPath returns the Path of errors about a check.
func CheckPath(name string) string { return "check " + show(name) }

// LinkPath returns the Path of errors about the check of a group.
func LinkPath(g farm.Group) string {
	if g.OfService() {
		return ServicePath(g.Farm.Name, g.Name())
	}
	return FarmPath(g.Farm.Name)
}

// checkChecks checks the rules of health checks.
func checkChecks(cfg *farm.Config, yield func(Error) bool) bool {
	if len(cfg.Checks) > farm.MaxChecks && !yield(Error{Field: "checks", Message: fmt.Sprintf("checks: at most %d are possible, got %d", farm.MaxChecks, len(cfg.Checks))}) {
		return false
	}
	known := map[string]bool{}
	for i := range cfg.Checks {
		c := &cfg.Checks[i]
		path := CheckPath(c.Name)
		if known[c.Name] && !yield(Error{path, "name", fmt.Sprintf("name must be unique, %s exists already", show(c.Name))}) {
			return false
		}
		known[c.Name] = true
		if !CheckDocument.verify(path, c, nil, yield) || !checkOfTemplate(path, c, yield) {
			return false
		}
	}
	return true
}

// checkOfTemplate checks that a check with the name of a template matches it.
func checkOfTemplate(path string, c *farm.Check, yield func(Error) bool) bool {
	t, is := CheckTemplate(c.Name)
	if !is {
		return true
	}
	for _, f := range []struct{ name, set, fixed string }{{"command", c.Command, t.Command}, {"description", c.Description, t.Description}} {
		if f.set != "" && f.set != f.fixed &&
			!yield(Error{path, f.name, fmt.Sprintf("%s of a template cannot be changed: make a copy of %s, and change that", f.name, c.Name)}) {
			return false
		}
	}
	return true
}

// checkLinks checks that the health checks of groups exist.
func checkLinks(cfg *farm.Config, yield func(Error) bool) bool {
	known := make(map[string]bool, len(cfg.Checks))
	for i := range cfg.Checks {
		known[cfg.Checks[i].Name] = true
	}
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			name := g.CheckedBy()
			if name == "" || known[name] {
				continue
			}
			if _, is := CheckTemplate(name); is {
				continue
			}
			if !yield(Error{LinkPath(g), linkRule.name, fmt.Sprintf("%s: there is no check %s%s", linkRule.name, show(name), cmp.Or(Near(name, checkNames(cfg)), "; sluice check list shows them"))}) {
				return false
			}
		}
	}
	return true
}

func checkNames(cfg *farm.Config) (out []string) {
	for _, c := range Checks(cfg) {
		out = append(out, c.Name)
	}
	return out
}

// checkWarnings adds warnings about linked checks that cannot find anything.
func checkWarnings(cfg *farm.Config, add func(Error)) {
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			if c, is := CheckNamed(cfg, g.CheckedBy()); is && c.Command == "" {
				add(Error{LinkPath(g), linkRule.name, fmt.Sprintf("the check %s has no command: nobody is asked", c.Name)})
			}
			if f := &cfg.Farms[i]; f.InKernel() && g.CheckedBy() == "" {
				add(Error{LinkPath(g), linkRule.name, "no health check: the kernel, which carries the farm, does not notice failures, and a backend that is down keeps getting clients; link a check"})
			}
		}
	}
}
