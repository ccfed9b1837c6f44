package factclassifier

import "strings"

// subjects are the ways in which a statement names the person it is about, as they stand in Reading.Words: what begins a
// statement, longest first, with what takes its place. A fact is the same whoever it is said of, and however: "The user
// works in Leeds", "User works in Leeds", "I work in Leeds", "Works in Leeds". What they have in common says nothing about
// what the statement would have its reader do, and is taken off before it is judged.
var subjects = []struct{ begin, instead string }{
	{"the current user", ""},
	{"the user", ""},
	{"this user", ""},
	{"user", ""},
	{"i'm", "is"},
	{"i am", "is"},
	{"i've", "has"},
	{"i have", "has"},
	{"i'd", "would"},
	{"i'll", "will"},
	{"he's", "is"},
	{"she's", "is"},
	{"they're", "is"},
	{"they are", "is"},
	{"i", ""},
	{"he", ""},
	{"she", ""},
	{"they", ""},
	{"my", ""},
	{"his", ""},
	{"her", ""},
	{"their", ""},
	{"el usuario", ""},
	{"la usuaria", ""},
	{"usuario", ""},
	{"usuaria", ""},
	{"yo", ""},
	{"ella", ""},
	{"mi", ""},
	{"mis", ""},
	{"su", ""},
	{"sus", ""},
}

// denseSubjects are those of scripts in which words are not set apart from what clings to them.
var denseSubjects = []string{
	"사용자께서는",
	"사용자에게는",
	"사용자한테는",
	"사용자의",
	"사용자는",
	"사용자가",
	"이용자의",
	"이용자는",
	"이용자가",
	"유저의",
	"유저는",
	"유저가",
	"나의",
	"나는",
	"저의",
	"저는",
	"내가",
	"제가",
	"내",
	"제",
	"ユーザーさんは",
	"ユーザーには",
	"ユーザーの",
	"ユーザーは",
	"ユーザーが",
	"ユーザの",
	"ユーザは",
	"ユーザが",
	"利用者の",
	"利用者は",
	"利用者が",
	"本人は",
	"私の",
	"私は",
	"私が",
	"僕の",
	"僕は",
	"俺は",
	"彼の",
	"彼は",
	"彼女の",
	"彼女は",
	"该用户的",
	"该用户",
	"此用户",
	"用户的",
	"用户",
	"使用者的",
	"使用者",
	"我的",
	"我",
	"他的",
	"他",
	"她的",
	"她",
	"本人",
}

// ofSubject are ways of naming the person within a statement.
var ofSubject = strings.NewReplacer(
	"the user's ",
	"her ",
	"the user ",
	"she ",
	"the user,",
	"she,",
	"the user.",
	"her.",
	" del usuario",
	"",
	" de la usuaria",
	"",
	" al usuario",
	"",
	" a la usuaria",
	"",
	" el usuario ",
	" ",
	" la usuaria ",
	" ",
)

// withoutSubject is a statement as Reading.Words has it without whom it is about.
func withoutSubject(words string) string {
	for _, s := range denseSubjects {
		if rest, ok := strings.CutPrefix(words, s); ok {
			return strings.TrimLeft(rest, " 、,")
		}
	}
	for _, s := range subjects {
		rest, ok := strings.CutPrefix(words, s.begin)
		if !ok {
			continue
		}
		rest, possessive := strings.CutPrefix(rest, "'s ")
		if possessive {
			words = rest
			break
		}
		if rest, ok = strings.CutPrefix(rest, " "); ok {
			words = rest
			if s.instead != "" {
				words = s.instead + " " + rest
			}
			break
		}
	}
	return ofSubject.Replace(words)
}
