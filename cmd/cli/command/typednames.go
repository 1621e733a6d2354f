package command

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
)

// sentAs returns the arguments, by their words in Use, that are sent as a field. With
// several, the command decides.
func sentAs(field string) []string {
	switch field {
	case "farmname":
		return []string{"NAME", "FARM"}
	case "newfarmname":
		return []string{"NAME"}
	case "id":
		return []string{"SERVICE"}
	case "name":
		return []string{"NAME", "USER", "CHECK", "FARM"}
	case "position", "pattern", "replace", "host", "port", "url", "revision", "alias":
		return []string{strings.ToUpper(field)}
	}
	return nil
}

// asTyped replaces the field name in an error by the flag or argument that the user typed.
// Programs get the API's names.
func asTyped(cmd *cobra.Command, err error) error {
	refusal, is := errors.AsType[*client.Error](err)
	if !is {
		return err
	}
	parts := regexp.MustCompile(`^((?:farm "[^"]*"(?: service "[^"]*")?(?: backend \d+)?: )?)([a-z][a-z0-9_]*)(:| must | is | cannot )`).FindStringSubmatchIndex(refusal.Message)
	if parts == nil {
		return err
	}
	before, field, after := refusal.Message[:parts[4]], refusal.Message[parts[4]:parts[5]], refusal.Message[parts[5]:]
	refusal.Message = before + typedFor(cmd, field) + after
	return err
}

// typedFor returns what the user typed for a field: a flag, an argument, or its name.
func typedFor(cmd *cobra.Command, field string) string {
	if f := cmd.LocalFlags().Lookup(field); f != nil && f.Changed {
		return "--" + f.Name
	}
	words := strings.FieldsFunc(cmd.Use, func(r rune) bool { return strings.ContainsRune(" []", r) })
	for _, argument := range sentAs(field) {
		if slices.Contains(words, argument) {
			return argument
		}
	}
	return field
}
