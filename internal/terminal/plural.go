package terminal

import "fmt"

// Counted is a number of things whose plural has an s: 1 error, 2 errors.
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
