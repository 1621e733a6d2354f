package certificates

import (
	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

var ocspParams = []field.Param{
	{Name: "enabled", PossibleValues: []string{"true", "false"}, Description: "Whether OCSP responses are fetched and stapled"},
	{Name: "private_responders", PossibleValues: []string{"true", "false"}, Description: "Whether OCSP responders may have private addresses"},
}

func ocspCommand(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, "/certificates/ocsp", ocspParams, &cobra.Command{
		Use: "ocsp [NAME=VALUE…]", Short: "Show or change how OCSP responses are fetched",
		Example: "  sluice certificate ocsp\n  sluice certificate ocsp private_responders=true",
	})
}
