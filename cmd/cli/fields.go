package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/mgmt/validate"
)

// settings are the fields of a body that a command takes, as flags
// (--contimeout 5) and as arguments (contimeout=5). The values are sent as they
// are: the appliance knows the rules. A list is given item by item, by
// repeating its name.
type settings struct {
	params []validate.Param // of the first section first, each name once
	values map[string]*string
	lists  map[string]*[]string
}

// section is the fields of one kind of object, and in a sentence which that is;
// empty when there is only one kind, or for the first.
type section struct {
	of     string
	params []validate.Param
}

// addSettings gives a command a flag for every field but those it takes in
// another way.
func addSettings(cmd *cobra.Command, params []validate.Param, except ...string) *settings {
	return addSections(cmd, []section{{params: params}}, except...)
}

// addSections is addSettings for a command about objects of several kinds. What
// two of them have is one flag.
func addSections(cmd *cobra.Command, sections []section, except ...string) *settings {
	s := &settings{values: map[string]*string{}, lists: map[string]*[]string{}}
	var help, pages strings.Builder
	for _, part := range sections {
		part.params = slices.DeleteFunc(slices.Clone(part.params), func(p validate.Param) bool { return slices.Contains(except, p.Name) })
		if part.of != "" {
			title := strings.ToUpper(part.of[:1]) + part.of[1:]
			fmt.Fprintf(&help, "\n\n%s:\n", title)
			fmt.Fprintf(&pages, "%s:\n\n", title)
		}
		help.WriteString(helpOf(part.params))
		pages.WriteString(definitions(part.params, about))
		for _, p := range part.params {
			s.add(cmd, p, part.of)
		}
	}
	before := cmp.Or(cmd.Long, cmd.Short+".") + "\n\nSettings are given as flags or as NAME=VALUE; VALUE null resets a setting" + s.repeats() + ":\n"
	cmd.Long = before + help.String()
	cmd.Annotations = map[string]string{manualText: before + "\n" + pages.String()}
	return s
}

func (s *settings) add(cmd *cobra.Command, p validate.Param, of string) {
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
	_ = cmd.Flags().SetAnnotation(flag, settingFlag, []string{}) // it is there
}

// isList reports whether a field takes several values.
func isList(p validate.Param) bool { return slices.Contains(p.Options, "list") }

func (s *settings) repeats() string {
	if len(s.lists) == 0 {
		return ""
	}
	return ",\nand a list is given by repeating its name, or with commas between items that\nhold none"
}

func about(p validate.Param) string {
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

func helpOf(params []validate.Param) string {
	var out strings.Builder
	width := 18
	for _, p := range params {
		width = max(width, len(p.Name))
	}
	for _, p := range params {
		out.WriteString(hanging(fmt.Sprintf("  %-*s ", width, p.Name), about(p)) + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// read returns the fields given by flags and by args, which must all be
// NAME=VALUE.
func (s *settings) read(cmd *cobra.Command, args []string) (map[string]any, error) {
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
			out[p.Name] = valueOf(*s.values[p.Name])
		}
	}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usagef("%q is not a setting: write NAME=VALUE", arg)
		}
		name = strings.ReplaceAll(name, "-", "_")
		_, twice := out[name]
		switch {
		case s.lists[name] != nil:
			items[name] = append(items[name], value)
		case s.values[name] == nil:
			return nil, s.unknown(name)
		case twice:
			return nil, usagef("%s is given twice", name)
		default:
			out[name] = valueOf(value)
		}
	}
	for name, list := range items {
		out[name] = listOf(list)
	}
	return out, nil
}

// listOf is a list as it is sent; the word null, or nothing, empties it.
func listOf(items []string) any {
	if len(items) == 1 && (items[0] == "null" || items[0] == "") {
		return nil
	}
	return items
}

func (s *settings) unknown(name string) error {
	return usagef("unknown setting %q%s", name, validate.Instead(name, s.names()))
}

func (s *settings) names() []string {
	var out []string
	for _, p := range s.params {
		out = append(out, p.Name)
	}
	return out
}

// valueOf turns the word null into what resets a field.
func valueOf(text string) any {
	if text == "null" {
		return nil
	}
	return text
}

// some is read for commands that need at least one setting.
func (s *settings) some(cmd *cobra.Command, args []string) (map[string]any, error) {
	out, err := s.read(cmd, args)
	if err == nil && len(out) == 0 {
		return nil, usagef("nothing to set: give NAME=VALUE, the names are %s", strings.Join(s.names(), ", "))
	}
	return out, err
}

// complete offers NAME= and, behind it, the values there are.
func (s *settings) complete(toComplete string) ([]string, cobra.ShellCompDirective) {
	name, _, hasValue := strings.Cut(toComplete, "=")
	var out []string
	for _, p := range s.params {
		switch {
		case !hasValue:
			out = append(out, p.Name+"=")
		case p.Name == name:
			for _, v := range p.PossibleValues {
				out = append(out, name+"="+v)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
