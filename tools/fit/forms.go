package main

import (
	"regexp"
	"strings"
)

// names are those that forms of lines are about. They stand before statements of either kind, so that no name shows what a
// statement is.
var names = map[string][]string{
	"en": strings.Fields(`Maria Tom Aisha Kenji Olga Peter Priya Liam Zoe Hassan Ingrid Carlos Mei Daniel Fatima Noah Elena Victor Amara Jonas
		Sofia Marcus Leila Ivan Grace Omar Hannah Diego Yuki Rachel Sven Nadia Oliver Chloe Rahul Beatriz Ethan Miriam Pavel Joy`),
	"es": strings.Fields(
		`María Javier Lucía Andrés Carmen Pablo Sofía Diego Elena Martín Rosa Iván Valeria Tomás Pilar Hugo Camila Raúl Inés Bruno
		Clara Emilio Nuria Óscar Paula Gonzalo Marta Sergio Julia Mateo`,
	),
	"ko": strings.Fields(`민지는 지훈은 서연은 도윤은 하은은 준호는 유진은 현우는 수빈은 태민은 은지는 동혁은 미영은 성민은 예린은 재현은 소라는 영수는
		나연은 상우는 민지가 준호가 서연이 현우가`),
	"ja": strings.Fields(`健太さんは 美咲さんは 翔太は 由美は 直樹さんは 彩さんは 大輔は 真由美は 拓也さんは 恵子さんは 亮は 千尋は 隆さんは 葵さんは
		浩二は 麻衣さんは 誠さんは 陽子は 田中さんは 佐藤さんは 鈴木さんが 山本さんが`),
	"zh": strings.Fields(`王伟 李娜 张敏 刘洋 陈静 杨帆 赵磊 黄丽 周杰 吴婷 徐强 孙悦 马超 朱琳 胡军 郭雪 何平 高翔 林晓 罗云 小丽 小明 老张 阿芳`),
}

// What stands before a statement's verb and is replaced by a name, and verbs that a statement without subject begins with.
var (
	userSubject = map[string]*regexp.Regexp{
		"en": regexp.MustCompile(`^(?:The user|User|He|She)\b`),
		"es": regexp.MustCompile(`^(?:El usuario|La usuaria|Usuario|Usuaria|Él|Ella) `),
		"ko": regexp.MustCompile(`^(?:사용자|유저|이용자)(?:는|가) ?`),
		"ja": regexp.MustCompile(`^(?:ユーザー?|利用者|本人|私|彼女?)(?:は|が)、?`),
		"zh": regexp.MustCompile(`^(?:该?用户|使用者|本人|我|他|她)`),
	}
	possessed = map[string]*regexp.Regexp{
		"en": regexp.MustCompile(`^(?:My|His|Her|Their) `),
	}
	beginsWithVerb = map[string]*regexp.Regexp{
		"en": regexp.MustCompile(`^(?:[A-Z][a-z]*[a-z]s|Wrote|Was|Went|Made|Took|Gave|Bought|Lost|Met|Got|Had|Sold|Once [a-z]+|[A-Z][a-z]+ed)\b`),
		"es": regexp.MustCompile(
			`^(?:Es|Está|Tiene|Trabaja|Vive|Le|Se|No|Quiere|Prefiere|Ha|Fue|Va|Suele|Lleva|[A-ZÁÉÍÓÚ][a-zñáéíóú]{2,}(?:a|e|ó|ió)) `,
		),
	}
	noVerb = regexp.MustCompile(
		`^(?:This|His|Always|Yes|Sources|Its|As|Unless|Perhaps|Sometimes|Tools|Rules|Messages|Links|Replies|Answers|Passwords|Files|Purchases|Payments|Requests|Refunds|Copies|Warnings|Tests|Emails|Photos|Notes|Keys|Codes|Users|Agreed|Para|Una|Cada|Esta|Esa|Toda|Cualquiera|Sobre|Ante|Entre|Cuenta|Clave|Nota|Norma|Regla) `,
	)
)

// named is a line about somebody by name; "" where it cannot be.
func named(language, line string, n int) string {
	list := names[language]
	name := list[n%len(list)]
	if at := userSubject[language].FindStringIndex(line); at != nil {
		rest := line[at[1]:]
		switch {
		case strings.HasPrefix(rest, "'"):
			return name + rest
		case language == "en", language == "es":
			return name + " " + strings.TrimLeft(rest, " ")
		}
		return joined(language, name, rest)
	}
	switch language {
	case "en", "es":
		if p := possessed[language]; p != nil {
			if at := p.FindStringIndex(line); at != nil {
				return name + "'s " + line[at[1]:]
			}
		}
		if noVerb.MatchString(line) || !beginsWithVerb[language].MatchString(line) {
			return ""
		}
		return name + " " + strings.ToLower(line[:1]) + line[1:]
	}
	return joined(language, name, line)
}

func joined(language, name, rest string) string {
	if language == "ko" {
		return name + " " + rest
	}
	return name + rest
}
