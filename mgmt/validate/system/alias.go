package system

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// AliasKind is one of the lists of aliases. An item is the alias of an ID, written as
// ID=ALIAS in documents.
type AliasKind struct {
	// Name is the kind of object, e.g. "backend". Form is the kind of ID, e.g. "address".
	Name, Form, Title string
	// Create is the body of a new alias, Update that of a change.
	Create, Update field.Table[farm.Alias]
	// List returns the list in the configuration.
	List func(*farm.Aliases) *[]farm.Alias

	id     field.Rule
	sample farm.Alias
}

// Lists of aliases.
var (
	BackendAliases = aliasKind("backend", "address", "Alias of a backend", func(a *farm.Aliases) *[]farm.Alias { return &a.Backends }, farm.Alias{ID: "10.0.0.11", Alias: "db-1"}, field.Rule{
		Format: "ip", MaxLen: 64, Check: format.ServerText, Canon: format.CanonAddr, Must: "the address of one server", About: "Server address that the alias applies to; a backend's own alias takes precedence."})
	InterfaceAliases = aliasKind("interface", "interface", "Alias of an interface", func(a *farm.Aliases) *[]farm.Alias { return &a.Interfaces }, farm.Alias{ID: "eth0", Alias: "office"}, field.Rule{
		Format: "interface", MaxLen: 15, Pattern: interfacePattern, Must: "the name of a network interface, as eth0, eth0.7 or eth0:web", About: "Name of the network interface; it does not have to exist."})
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

var aliasText = field.Rule{Name: "alias", Hints: field.Basic(field.AtAddress, "Alias"), Kind: field.Text, Required: true, MaxLen: maxAliasText, Reserved: []string{"0"}, Check: checkAlias,
	Format: `host name or [\w-]+`, Must: "a host name, or letters, digits, _ and -", About: "Display name."}

// checkAlias rejects addresses, which would be ambiguous, and texts that look like
// command-line options.
func checkAlias(s string) string {
	switch _, err := netip.ParseAddr(s); {
	case err == nil:
		return "it is an address"
	case simpleAlias.MatchString(s):
		return ""
	}
	return format.Host(s)
}

func aliasKind(name, form, title string, list func(*farm.Aliases) *[]farm.Alias, sample farm.Alias,
	id field.Rule) *AliasKind {
	id.Sample = sample.ID
	id.Name, id.Hints, id.Kind, id.Required = "id", field.Basic(field.AtAddress, "Object"), field.Text, true
	alias := field.Field[farm.Alias]{Rule: aliasText,
		Get: func(a *farm.Alias) field.Value { return field.TextValue(a.Alias) }, Set: func(a *farm.Alias,
			v field.Value) {
			a.Alias = v.Text()
		}}
	of := field.Field[farm.Alias]{Rule: id, Get: func(a *farm.Alias) field.Value { return field.TextValue(a.ID) },
		Set: func(a *farm.Alias, v field.Value) { a.ID = v.Text() }}
	return &AliasKind{Name: name, Form: form, Title: title, List: list, id: id, sample: sample,
		Create: field.Table[farm.Alias]{Fields: []field.Field[farm.Alias]{of,
			alias}}, Update: field.Table[farm.Alias]{Fields: []field.Field[farm.Alias]{alias}}}
}

// ID converts an ID into its stored form.
func (k *AliasKind) ID(text string) (string, error) {
	v, err := k.id.Parse("", text)
	if err != nil {
		return "", err
	}
	return v.Text(), nil
}

// parse splits an item of a document; problem explains an invalid one.
func (k *AliasKind) parse(item string) (a farm.Alias, problem string) {
	id, alias, found := strings.Cut(item, "=")
	if !found {
		return a, "it has no ="
	}
	known, err := k.id.Parse("", id)
	if err != nil {
		return a, err.Message
	}
	text, err := aliasText.Parse("", alias)
	if err != nil {
		return a, err.Message
	}
	return farm.Alias{ID: known.Text(), Alias: text.Text()}, ""
}

// field returns the list as a field of documents.
func (k *AliasKind) field() field.Field[farm.System] {
	name, form := k.Name+"s", k.Form+"=alias"
	return field.Field[farm.System]{
		Rule: field.Rule{Name: name, Hints: field.Basic(field.AtSystem, name), Kind: field.List, Words: true,
			Null: true, Max: farm.MaxAliases, MaxLen: k.id.MaxLen + 1 + maxAliasText,
			Format: form, Must: form, MustList: "a list of " + form,
			Check: func(item string) string { _, problem := k.parse(item); return problem },
			Canon: func(item string) string {
				if a, problem := k.parse(item); problem == "" {
					return a.String()
				}
				return item
			},
			Sample: []string{k.sample.String()},
			Key:    func(item string) string { id, _, _ := strings.Cut(item, "="); return id },
			About:  "Display names of " + k.Name + "s, as " + form + "."},
		Get: func(s *farm.System) field.Value {
			var out []string
			for _, a := range *k.List(&s.Aliases) {
				out = append(out, a.String())
			}
			return field.ListValue(out)
		},
		Set: func(s *farm.System, v field.Value) {
			var out []farm.Alias
			for _, item := range v.List() {
				if a, problem := k.parse(item); problem == "" {
					out = append(out, a)
				}
			}
			*k.List(&s.Aliases) = out
		},
	}
}
