package validate

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// AliasKind is one of the lists of aliases. An item is the alias of an ID, written as
// ID=ALIAS in documents.
type AliasKind struct {
	// Name is the kind of object, e.g. "backend". Form is the kind of ID, e.g. "address".
	Name, Form, Title string
	// Create is the body of a new alias, Update that of a change.
	Create, Update Table[farm.Alias]
	// List returns the list in the configuration.
	List func(*farm.Aliases) *[]farm.Alias

	id     rule
	sample farm.Alias
}

// Lists of aliases.
var (
	BackendAliases = aliasKind("backend", "address", "Alias of a backend", func(a *farm.Aliases) *[]farm.Alias { return &a.Backends }, farm.Alias{ID: "10.0.0.11", Alias: "db-1"}, rule{
		format: "ip", maxLen: 64, check: checkNameServer, canon: canonAddr, must: "the address of one server", about: "Server address that the alias applies to; a backend's own alias takes precedence."})
	InterfaceAliases = aliasKind("interface", "interface", "Alias of an interface", func(a *farm.Aliases) *[]farm.Alias { return &a.Interfaces }, farm.Alias{ID: "eth0", Alias: "office"}, rule{
		format: "interface", maxLen: 15, pattern: interfacePattern, must: "the name of a network interface, as eth0, eth0.7 or eth0:web", about: "Name of the network interface; it does not have to exist."})
)

// AliasKinds returns the lists of aliases in document order.
func AliasKinds() []*AliasKind { return []*AliasKind{BackendAliases, InterfaceAliases} }

var (
	// interfacePattern matches the names of NICs, bonds, VLANs and virtual interfaces.
	interfacePattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.:-]*$`)
	// simpleAlias matches an alias that need not be a host name.
	simpleAlias = regexp.MustCompile(`^\w[\w-]*$`)
)

// maxAliasText is the maximum length of an alias, which is that of a host name.
const maxAliasText = 253

var aliasText = rule{name: "alias", hints: basic(atAddress, "Alias"), kind: kindText, required: true, maxLen: maxAliasText, reserved: []string{"0"}, check: checkAlias,
	format: `host name or [\w-]+`, must: "a host name, or letters, digits, _ and -", about: "Display name."}

// checkAlias rejects addresses, which would be ambiguous, and texts that look like
// command-line options.
func checkAlias(s string) string {
	switch _, err := netip.ParseAddr(s); {
	case err == nil:
		return "it is an address"
	case simpleAlias.MatchString(s):
		return ""
	}
	return checkHost(s)
}

func aliasKind(name, form, title string, list func(*farm.Aliases) *[]farm.Alias, sample farm.Alias, id rule) *AliasKind {
	id.sample = sample.ID
	id.name, id.hints, id.kind, id.required = "id", basic(atAddress, "Object"), kindText, true
	alias := field[farm.Alias]{rule: aliasText, get: func(a *farm.Alias) Value { return textValue(a.Alias) }, set: func(a *farm.Alias, v Value) { a.Alias = v.text }}
	of := field[farm.Alias]{rule: id, get: func(a *farm.Alias) Value { return textValue(a.ID) }, set: func(a *farm.Alias, v Value) { a.ID = v.text }}
	return &AliasKind{Name: name, Form: form, Title: title, List: list, id: id, sample: sample,
		Create: Table[farm.Alias]{fields: []field[farm.Alias]{of, alias}}, Update: Table[farm.Alias]{fields: []field[farm.Alias]{alias}}}
}

// ID converts an ID into its stored form.
func (k *AliasKind) ID(text string) (string, error) {
	v, err := k.id.parse("", text)
	if err != nil {
		return "", err
	}
	return v.text, nil
}

// parse splits an item of a document; problem explains an invalid one.
func (k *AliasKind) parse(item string) (a farm.Alias, problem string) {
	id, alias, found := strings.Cut(item, "=")
	if !found {
		return a, "it has no ="
	}
	known, err := k.id.parse("", id)
	if err != nil {
		return a, err.Message
	}
	text, err := aliasText.parse("", alias)
	if err != nil {
		return a, err.Message
	}
	return farm.Alias{ID: known.text, Alias: text.text}, ""
}

// field returns the list as a field of documents.
func (k *AliasKind) field() field[farm.System] {
	name, form := k.Name+"s", k.Form+"=alias"
	return field[farm.System]{
		rule: rule{name: name, hints: basic(atSystem, name), kind: kindList, words: true, null: true, max: farm.MaxAliases, maxLen: k.id.maxLen + 1 + maxAliasText,
			format: form, must: form, musts: "a list of " + form,
			check: func(item string) string { _, problem := k.parse(item); return problem },
			canon: func(item string) string {
				if a, problem := k.parse(item); problem == "" {
					return a.String()
				}
				return item
			},
			sample: []string{k.sample.String()},
			same:   func(item string) string { id, _, _ := strings.Cut(item, "="); return id },
			about:  "Display names of " + k.Name + "s, as " + form + "."},
		get: func(s *farm.System) Value {
			var out []string
			for _, a := range *k.List(&s.Aliases) {
				out = append(out, a.String())
			}
			return listValue(out)
		},
		set: func(s *farm.System, v Value) {
			var out []farm.Alias
			for _, item := range v.list {
				if a, problem := k.parse(item); problem == "" {
					out = append(out, a)
				}
			}
			*k.List(&s.Aliases) = out
		},
	}
}
