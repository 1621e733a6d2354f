package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

// Settings are the body fields of a command, as flags (--contimeout 5) and as arguments
// (contimeout=5). The values are sent unchanged and checked by the appliance. A list is
// given by repeating its name.
type Settings struct {
	Sections []Section
	params   []field.Param // first section first, each name once
	values   map[string]*string
	lists    map[string]*[]string
	lookUp   func(Argument) []string // returns the names of a kind for completion; may be nil
}

// namedBy maps settings to the kind of objects they name.
var namedBy = map[string]Argument{
	"certificates": CertificateName, "certificate": CertificateName, "httpsb_certificate": CertificateName, "client_ca": AuthorityName, "httpsb_ca": AuthorityName, "ca": AuthorityName,
	"farmguardian": CheckName, "dns_farm": FarmName, "copy_from": FarmName,
}

// offered returns the listable values of a setting; for a list, those after the last comma.
func (s *Settings) offered(p field.Param, typed string) (out []string) {
	before := ""
	if i := strings.LastIndexByte(typed, ','); i >= 0 && isList(p) {
		before = typed[:i+1]
	}
	values := p.PossibleValues
	if kind, is := namedBy[p.Name]; is && s.lookUp != nil {
		values = s.lookUp(kind)
	}
	for _, v := range values {
		if name, _, _ := strings.Cut(v, "\t"); !strings.HasSuffix(name, ".csr") { // not usable in a farm
			out = append(out, before+v)
		}
	}
	return out
}

// setting is the flag value of a setting, with all settings of its command.
type setting struct {
	pflag.Value
	of *Settings
}

// IsSetting reports whether a flag is a setting.
func IsSetting(f *pflag.Flag) bool {
	_, is := f.Value.(setting)
	return is
}

// SettingsOf returns the settings of a command, or nil.
func SettingsOf(cmd *cobra.Command) (s *Settings) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if v, is := f.Value.(setting); is {
			s = v.of
		}
	})
	return s
}

// Section holds the fields of one kind of object and describes the kind; of is empty for a
// single kind or the first.
type Section struct {
	Of     string
	Params []field.Param
}

// AddSettings adds a flag for every field except those in except.
func AddSettings(cmd *cobra.Command, params []field.Param, except ...string) *Settings {
	return AddSections(cmd, []Section{{Params: params}}, except...)
}

// AddSections is addSettings for several kinds of objects. Common fields share a flag.
func AddSections(cmd *cobra.Command, sections []Section, except ...string) *Settings {
	s := &Settings{values: map[string]*string{}, lists: map[string]*[]string{}}
	for _, part := range sections {
		part.Params = slices.DeleteFunc(slices.Clone(part.Params),
			func(p field.Param) bool { return slices.Contains(except, p.Name) })
		s.Sections = append(s.Sections, part)
		for _, p := range part.Params {
			s.add(cmd, p, part.Of)
		}
	}
	cmd.Annotations = map[string]string{}
	return s
}

// HelpFormat is a text format for settings: text before them, title of a section, and the list of
// fields.
type HelpFormat struct {
	before, title string
	list          func([]field.Param) string
	text          func(string) string // formats the command's long help
}

var (
	OnTerminal = HelpFormat{title: "\n\n%s:\n", list: helpOf, text: func(s string) string { return s }}
	// inManual is markdown for manual pages.
	inManual = HelpFormat{before: "\n", title: "%s:\n\n", list: func(params []field.Param) string { return definitions(params, about) }, text: asMarkdown}
)

// LongHelp returns a command's long help with its settings. It is built on demand, because
// building it for all commands took longer than most of them run.
func LongHelp(cmd *cobra.Command, in HelpFormat) string {
	s := SettingsOf(cmd)
	if s == nil {
		return cmd.Long
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\nSettings are given as flags or as NAME=VALUE; VALUE null resets a setting%s:\n%s", in.text(cmp.Or(cmd.Long, cmd.Short+".")), s.repeats(), in.before)
	for _, part := range s.Sections {
		if part.Of != "" {
			fmt.Fprintf(&out, in.title, strings.ToUpper(part.Of[:1])+part.Of[1:])
		}
		out.WriteString(in.list(part.Params))
	}
	return out.String()
}

func (s *Settings) add(cmd *cobra.Command, p field.Param, of string) {
	if s.values[p.Name] != nil || s.lists[p.Name] != nil {
		return
	}
	s.params = append(s.params, p)
	flag, text := strings.ReplaceAll(p.Name, "_", "-"), about(p)
	if of != "" {
		text += "; " + of
	}
	if isList(p) {
		s.lists[p.Name] = cmd.Flags().StringArray(flag, nil, text)
	} else {
		s.values[p.Name] = cmd.Flags().String(flag, "", text)
	}
	f := cmd.Flags().Lookup(flag)
	f.Value = setting{f.Value, s}
	_, named := namedBy[p.Name]
	if named || len(p.PossibleValues) > 0 {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return s.offered(p, typed), cobra.ShellCompDirectiveNoFileComp
		}) // the name is still free
	}
}

// isList reports whether a field accepts several values.
func isList(p field.Param) bool { return slices.Contains(p.Options, "list") }

func (s *Settings) repeats() string {
	if len(s.lists) == 0 {
		return ""
	}
	return ",\nand a list by repeating its name, or with commas if no item contains one"
}

func about(p field.Param) string {
	out := strings.TrimSuffix(p.Description, ".")
	switch {
	case len(p.PossibleValues) > 1:
		out += ": " + strings.Join(slices.DeleteFunc(slices.Clone(p.PossibleValues), func(v string) bool { return v == "" }), ", ")
	case strings.HasSuffix(p.Interval, ","):
		out += ": from " + strings.TrimSuffix(p.Interval, ",") + " on"
	case p.Interval != "":
		out += ": " + strings.Replace(p.Interval, ",", " to ", 1)
	}
	return out
}

// helpOf returns a list of fields for a terminal.
func helpOf(params []field.Param) string {
	var out strings.Builder
	width := 18
	for _, p := range params {
		width = max(width, len(p.Name))
	}
	for _, p := range params {
		out.WriteString(HangingIndent(fmt.Sprintf("  %-*s ", width, p.Name), about(p)) + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Read returns the fields in flags and args, which must have the form NAME=VALUE.
func (s *Settings) Read(cmd *cobra.Command, args []string) (map[string]any, error) {
	out := map[string]any{}
	items := map[string][]string{}
	for _, p := range s.params {
		flag := cmd.Flags().Lookup(p.Name)
		if flag == nil || !flag.Changed {
			continue
		}
		if list := s.lists[p.Name]; list != nil {
			items[p.Name] = *list
		} else {
			out[p.Name] = s.Value(p.Name, *s.values[p.Name])
		}
	}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, Usagef("%q is not a setting: write NAME=VALUE", arg)
		}
		name = strings.ReplaceAll(name, "-", "_")
		_, twice := out[name]
		switch {
		case s.lists[name] != nil:
			items[name] = append(items[name], value)
		case s.values[name] == nil:
			return nil, s.unknown(name)
		case twice:
			return nil, Usagef("%s is given twice", name)
		default:
			out[name] = s.Value(name, value)
		}
	}
	for name, list := range items {
		out[name] = listOf(list)
	}
	return out, nil
}

// listOf returns a list for sending. The word null, or nothing, clears it.
func listOf(items []string) any {
	if len(items) == 1 && (items[0] == "null" || items[0] == "") {
		return nil
	}
	return items
}

func (s *Settings) unknown(name string) error {
	return Usagef("unknown setting %q%s", name, suggest.For(name, s.names()))
}

// Value returns a setting for sending. The word null stands for the default of settings that
// the API does not reset by null, e.g. booleans.
func (s *Settings) Value(name, text string) any {
	if text != "null" {
		return text
	}
	for _, p := range s.params {
		if p.Name == name && slices.Contains(p.Options, "non_blank") && !slices.Contains(p.Options, "null") {
			return p.Plain.Default // nil without a default
		}
	}
	return nil
}

func (s *Settings) names() []string {
	var out []string
	for _, p := range s.params {
		out = append(out, p.Name)
	}
	return out
}

// ReadSome is read for commands that require a setting.
func (s *Settings) ReadSome(cmd *cobra.Command, args []string) (map[string]any, error) {
	out, err := s.Read(cmd, args)
	if err == nil && len(out) == 0 {
		return nil, Usagef("nothing to set: give NAME=VALUE, the names are %s", strings.Join(s.names(), ", "))
	}
	return out, err
}

// Complete offers NAME= and then its values.
func (s *Settings) Complete(toComplete string) ([]string, cobra.ShellCompDirective) {
	name, typed, hasValue := strings.Cut(toComplete, "=")
	var out []string
	for _, p := range s.params {
		switch {
		case !hasValue:
			out = append(out, p.Name+"=")
		case p.Name == name:
			for _, v := range s.offered(p, typed) {
				out = append(out, name+"="+v)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
