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
	params []validate.Param
	values map[string]*string
	lists  map[string]*[]string
}

// addSettings gives a command a flag for every field but those it takes in
// another way.
func addSettings(cmd *cobra.Command, params []validate.Param, except ...string) *settings {
	s := &settings{values: map[string]*string{}, lists: map[string]*[]string{}}
	for _, p := range params {
		if slices.Contains(except, p.Name) {
			continue
		}
		s.params = append(s.params, p)
		flag := strings.ReplaceAll(p.Name, "_", "-")
		if isList(p) {
			s.lists[p.Name] = cmd.Flags().StringArray(flag, nil, about(p))
		} else {
			s.values[p.Name] = cmd.Flags().String(flag, "", about(p))
		}
	}
	cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\nSettings are given as flags or as NAME=VALUE; VALUE null resets a setting" + s.repeats() + ":\n" + s.help()
	return s
}

// isList reports whether a field takes several values.
func isList(p validate.Param) bool { return slices.Contains(p.Options, "list") }

func (s *settings) repeats() string {
	if len(s.lists) == 0 {
		return ""
	}
	return ",\nand a list is given by repeating its name, once for each item"
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

func (s *settings) help() string {
	var out strings.Builder
	width := 18
	for _, p := range s.params {
		width = max(width, len(p.Name))
	}
	for _, p := range s.params {
		fmt.Fprintf(&out, "  %-*s %s\n", width, p.Name, about(p))
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
	known := s.names()
	if near := validate.Suggest(name, known); near != "" {
		return usagef("unknown setting %q (did you mean %q?)", name, near)
	}
	return usagef("unknown setting %q; there are %s", name, strings.Join(known, ", "))
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
