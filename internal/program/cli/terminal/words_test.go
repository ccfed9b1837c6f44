package terminal

import "testing"

func TestAWordForAShellIsOneWord(t *testing.T) {
	for word, want := range map[string]string{"ada": "ada", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'"} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}
