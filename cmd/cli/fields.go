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
// are: the appliance knows the rules.
type settings struct {
	params []validate.Param
	values map[string]*string
}

// addSettings gives a command a flag for every field but those it takes in
// another way.
func addSettings(cmd *cobra.Command, params []validate.Param, except ...string) *settings {
	s := &settings{values: map[string]*string{}}
	for _, p := range params {
		if slices.Contains(except, p.Name) {
			continue
		}
		s.params = append(s.params, p)
		s.values[p.Name] = cmd.Flags().String(strings.ReplaceAll(p.Name, "_", "-"), "", about(p))
	}
	cmd.Long = cmp.Or(cmd.Long, cmd.Short+".") + "\n\nSettings are given as flags or as NAME=VALUE; VALUE null resets a setting:\n" + s.help()
	return s
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
	for _, p := range s.params {
		fmt.Fprintf(&out, "  %-18s %s\n", p.Name, about(p))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// read returns the fields given by flags and by args, which must all be
// NAME=VALUE.
func (s *settings) read(cmd *cobra.Command, args []string) (map[string]any, error) {
	out := map[string]any{}
	for _, p := range s.params {
		flag := cmd.Flags().Lookup(p.Name)
		if flag != nil && flag.Changed {
			out[p.Name] = valueOf(*s.values[p.Name])
		}
	}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usagef("%q is not a setting: write NAME=VALUE", arg)
		}
		name = strings.ReplaceAll(name, "-", "_")
		if s.values[name] == nil {
			return nil, s.unknown(name)
		}
		if _, twice := out[name]; twice {
			return nil, usagef("%s is given twice", name)
		}
		out[name] = valueOf(value)
	}
	return out, nil
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
