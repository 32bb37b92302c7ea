package explain

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/terminal/golden"
)

func TestGolden(t *testing.T) { golden.Run(t, NewCommand) }
